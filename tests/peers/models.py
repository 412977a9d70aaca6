"""Small models of many architectures with random weights, exported by PyTorch. Nothing is downloaded."""
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

OPSET = 17


@dataclass(frozen=True)
class Input:
    """`kind`: image (normalised), ids (below `limit`), mask (ones, then zeros). Free dims are called by strings, and are `free` when run."""

    name: str
    kind: str
    dims: tuple
    limit: int = 0


@dataclass(frozen=True)
class Architecture:
    name: str
    build: Callable
    inputs: tuple[Input, ...]
    fuser: str = ""  # its name in onnxruntime.transformers.optimizer
    heads: int = 0
    hidden: int = 0


FREE = {"batch": 2, "sequence": 16}


def dims_of(one: Input) -> list[int]:
    return [FREE.get(dim, dim) for dim in one.dims]


# --- how they are built: each imports what it needs, so that a missing package costs its models only ------------------------------


def torchvision(name: str, **words):
    def build():
        import torchvision.models

        return getattr(torchvision.models, name)(weights=None, **words)

    return build


def timm(name: str, **words):
    def build():
        import timm

        return timm.create_model(name, pretrained=False, **words)

    return build


def hugging_face(model: str, config: str, **words):
    def build():
        import torch
        import transformers

        made = getattr(transformers, config)(attn_implementation="eager", **words)
        inner = getattr(transformers, model)(made)

        class Plain(torch.nn.Module):
            """Tensors in, one tensor out: no cache, no dictionary."""

            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, first, mask=None):
                if mask is None:
                    return self.inner(first, return_dict=False)[0]
                return self.inner(first, attention_mask=mask, return_dict=False)[0]

        return Plain()

    return build


def dense():
    from torchvision.models import DenseNet

    return DenseNet(growth_rate=12, block_config=(2, 3, 3), num_init_features=24, num_classes=100)


def efficient():
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig

    settings = [MBConvConfig(1, 3, 1, 16, 8, 1, 1.0, 1.0), MBConvConfig(6, 3, 2, 8, 16, 1, 1.0, 1.0), MBConvConfig(6, 5, 2, 16, 24, 2, 1.0, 1.0)]
    return EfficientNet(settings, 0.2, num_classes=100, last_channel=128)


def swin():
    from torchvision.models import SwinTransformer

    return SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=50)


def mixer():
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(img_size=64, patch_size=16, num_blocks=2, embed_dim=64, num_classes=50)


def vision_transformer():
    from torchvision.models import VisionTransformer

    return VisionTransformer(image_size=64, patch_size=16, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=50)


def encoder():
    import torch

    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def unet():
    import torch
    from torch import nn

    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.bottom = block(3, 8), block(8, 16), block(16, 32)
            self.pool = nn.MaxPool2d(2)
            self.up_second, self.up_first = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.back_second, self.back_first = block(32, 16), block(16, 8)
            self.last = nn.Conv2d(8, 4, 1)

        def forward(self, x):
            first = self.first(x)
            second = self.second(self.pool(first))
            up = self.up_second(self.bottom(self.pool(second)))
            up = self.up_first(self.back_second(torch.cat([up, second], 1)))
            return self.last(self.back_first(torch.cat([up, first], 1)))

    return Unet()


def detector():
    """SiLU everywhere, a pyramid with Resize, and boxes decoded from sigmoids, as YOLO has them."""
    import torch
    from torch import nn

    def conv(a, b, stride=1):
        return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU())

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.low, self.high = nn.Sequential(conv(3, 8, 2), conv(8, 16, 2)), conv(16, 24, 2), conv(24, 32, 2)
            self.up = nn.Upsample(scale_factor=2, mode="nearest")
            self.join = conv(56, 24)
            self.heads = nn.ModuleList([nn.Conv2d(24, 14, 1), nn.Conv2d(32, 14, 1)])

        def forward(self, x):
            low = self.low(self.stem(x))
            high = self.high(low)
            low = self.join(torch.cat([self.up(high), low], 1))
            out = []
            for head, feature, stride in zip(self.heads, (low, high), (8.0, 16.0)):
                raw = head(feature).flatten(2).transpose(1, 2)
                place, size, scores = raw[..., :2].sigmoid() * stride, (raw[..., 2:4].sigmoid() * 2) ** 2 * stride, raw[..., 4:].sigmoid()
                out.append(torch.cat([place - size / 2, place + size / 2, scores], -1))
            return torch.cat(out, 1)

    return Detector()


def recurrent():
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru = nn.LSTM(24, 32, batch_first=True, bidirectional=True), nn.GRU(64, 32, batch_first=True)
            self.norm, self.last = nn.LayerNorm(32), nn.Linear(32, 20)

        def forward(self, x):
            out, _ = self.gru(self.lstm(x)[0])
            return torch.log_softmax(self.last(self.norm(out)), -1)

    return Recurrent()


def speech():
    import torch
    from torch import nn

    def conv(a, b, stride):
        return nn.Sequential(nn.Conv1d(a, b, 5, stride, 2), nn.BatchNorm1d(b), nn.LeakyReLU(0.1))

    layers = nn.Sequential(conv(1, 16, 4), conv(16, 32, 4), conv(32, 32, 2), nn.Conv1d(32, 32, 3, padding=1, groups=32), nn.Tanh(), nn.Conv1d(32, 10, 1))
    return torch.nn.Sequential(layers, nn.AdaptiveAvgPool1d(1), nn.Flatten())


def segmenter():
    import torch
    from torch import nn

    class Segmenter(nn.Module):
        """Dilated branches beside each other and a bilinear Resize, as DeepLab has them; Hardswish and PReLU in them."""

        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish())
            self.branches = nn.ModuleList(nn.Sequential(nn.Conv2d(16, 12, 3, padding=d, dilation=d), nn.BatchNorm2d(12), nn.PReLU(12)) for d in (1, 2, 4))
            self.last = nn.Conv2d(36, 5, 1)

        def forward(self, x):
            stem = self.stem(x)
            out = self.last(torch.cat([branch(stem) for branch in self.branches], 1))
            return nn.functional.interpolate(out, scale_factor=4.0, mode="bilinear", align_corners=False)

    return Segmenter()


def video():
    import torch
    from torch import nn

    class Video(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Conv3d(3, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d(2))
            self.b = nn.Sequential(nn.Conv3d(8, 16, (1, 3, 3), padding=(0, 1, 1)), nn.BatchNorm3d(16), nn.SiLU())
            self.c = nn.Linear(16, 10)

        def forward(self, x):
            return self.c(self.b(self.a(x)).mean((2, 3, 4)))

    return Video()


def generator():
    from torch import nn

    return nn.Sequential(nn.Linear(32, 64 * 16), nn.Unflatten(1, (64, 4, 4)), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
                         nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.2),
                         nn.ConvTranspose2d(16, 3, 3, 1, 1), nn.Tanh())


def series():
    import torch
    from torch import nn

    class Series(nn.Module):
        """Causal convolutions of growing reach, as temporal networks have them."""

        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv1d(16, 16, 3, dilation=d) for d in (1, 2, 4))
            self.inn, self.out, self.norm = nn.Conv1d(4, 16, 1), nn.Conv1d(16, 6, 1), nn.GroupNorm(4, 16)

        def forward(self, x):
            x = self.inn(x)
            for i, conv in enumerate(self.convs):
                x = x + torch.nn.functional.elu(conv(torch.nn.functional.pad(x, (2 * 2 ** i, 0))))
            return self.out(self.norm(x))

    return Series()


def decoder():
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TransformerDecoder(nn.TransformerDecoderLayer(48, 4, 96, batch_first=True, norm_first=True), 2)
            self.last = nn.Linear(48, 30)

        def forward(self, x, memory):
            mask = torch.triu(torch.full((16, 16), float("-inf")), 1)
            return self.last(self.inner(x, memory, tgt_mask=mask))

    return Decoder()


def points():
    import torch
    from torch import nn

    class Points(nn.Module):
        """A set of points: the largest and the mean of what each gives."""

        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
            self.b = nn.Sequential(nn.Linear(64, 32), nn.Softplus(), nn.Linear(32, 9))

        def forward(self, x):
            y = self.a(x)
            return self.b(y.max(1).values + y.mean(1))

    return Points()


def table():
    import torch
    from torch import nn

    class Table(nn.Module):
        """Rows of numbers: classes by Floor and Clip, a table of vectors, a comparison that gates."""

        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(20, 40), nn.Linear(40, 40), nn.Linear(40, 3)
            self.n, self.emb = nn.BatchNorm1d(40), nn.Embedding(7, 20)

        def forward(self, x):
            x = x + self.emb(torch.clamp((x[:, 0] * 2).floor() + 3, 0, 6).long())
            gate = torch.sigmoid(self.b(torch.relu(self.a(x))))
            return torch.softmax(self.c(self.n(torch.where(gate > 0.5, gate * 2, gate / 3))), -1)

    return Table()


# --- the models -------------------------------------------------------------------------------------------------------------------


def image(size=64):
    return (Input("image", "image", ("batch", 3, size, size)),)


def tokens(limit):
    return (Input("input_ids", "ids", ("batch", "sequence"), limit), Input("attention_mask", "mask", ("batch", "sequence")))


SMALL = {"vocab_size": 200, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 64}

ARCHITECTURES = (
    Architecture("resnet10", timm("resnet18", layers=(1, 1, 1, 1), channels=(16, 32, 64, 128), num_classes=100), image()),
    Architecture("mobilenet_v2", torchvision("mobilenet_v2", width_mult=0.35, num_classes=100), image()),
    Architecture("mobilenet_v3", torchvision("mobilenet_v3_small", width_mult=0.5, num_classes=100), image()),
    Architecture("shufflenet", torchvision("shufflenet_v2_x0_5", num_classes=100), image()),
    Architecture("squeezenet", torchvision("squeezenet1_1", num_classes=100), image()),
    Architecture("densenet", dense, image()),
    Architecture("regnet", timm("regnety_002", num_classes=100), image()),
    Architecture("efficientnet", efficient, image()),
    Architecture("unet", unet, image(32)),
    Architecture("detector", detector, image()),
    Architecture("segmenter", segmenter, image()),
    Architecture("speech", speech, (Input("sound", "image", ("batch", 1, 1024)),)),
    Architecture("convnext", timm("convnext_atto", depths=(1, 1, 2, 1), dims=(16, 32, 48, 64), num_classes=100), image()),
    Architecture("swin", swin, image(), "swin", 2, 24),
    Architecture("vit", vision_transformer, image(), "vit", 4, 64),
    Architecture("vit_timm", timm("vit_tiny_patch16_224", img_size=64, depth=2, embed_dim=64, num_heads=4, num_classes=100), image(), "vit", 4, 64),
    Architecture("mixer", mixer, image()),
    Architecture("encoder", encoder, (Input("sequence", "image", ("batch", 16, 64)),), "bert", 4, 64),
    Architecture("bert", hugging_face("BertModel", "BertConfig", **SMALL), tokens(200), "bert", 4, 64),
    Architecture("distilbert", hugging_face("DistilBertModel", "DistilBertConfig", vocab_size=200, dim=64, n_layers=2, n_heads=4, hidden_dim=128,
                                            max_position_embeddings=64), tokens(200), "bert", 4, 64),
    Architecture("albert", hugging_face("AlbertModel", "AlbertConfig", **SMALL, embedding_size=32), tokens(200), "bert", 4, 64),
    Architecture("gpt2", hugging_face("GPT2Model", "GPT2Config", vocab_size=200, n_embd=64, n_layer=2, n_head=4, n_positions=64, use_cache=False),
                 tokens(200), "gpt2", 4, 64),
    Architecture("llama", hugging_face("LlamaModel", "LlamaConfig", **SMALL, num_key_value_heads=2, use_cache=False), tokens(200), "gpt2", 4, 64),
    Architecture("t5", hugging_face("T5EncoderModel", "T5Config", vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4),
                 tokens(200), "bert", 4, 64),
    Architecture("vit_hf", hugging_face("ViTModel", "ViTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                        image_size=64, patch_size=16), image(), "vit", 4, 64),
    Architecture("recurrent", recurrent, (Input("sequence", "image", ("batch", "sequence", 24)),)),
    Architecture("opt", hugging_face("OPTModel", "OPTConfig", vocab_size=200, hidden_size=64, num_hidden_layers=2, ffn_dim=128, num_attention_heads=4,
                                     max_position_embeddings=64, word_embed_proj_dim=64, use_cache=False), tokens(200), "gpt2", 4, 64),
    Architecture("video", video, (Input("clip", "image", ("batch", 3, 4, 16, 16)),)),
    Architecture("generator", generator, (Input("z", "image", ("batch", 32)),)),
    Architecture("tcn", series, (Input("series", "image", ("batch", 4, 64)),)),
    Architecture("decoder", decoder, (Input("target", "image", ("batch", 16, 48)), Input("memory", "image", ("batch", 12, 48)))),
    Architecture("pointnet", points, (Input("points", "image", ("batch", 100, 3)),)),
    Architecture("tabular", table, (Input("features", "image", ("batch", 20)),)),
)


def architecture(name: str) -> Architecture:
    return next(one for one in ARCHITECTURES if one.name == name)


# --- exporting --------------------------------------------------------------------------------------------------------------------


def shake(module):
    """Random weights as training leaves them: statistics, scales and shifts of normalizations are no zeros and ones."""
    import torch

    generator = torch.Generator().manual_seed(7)

    def uniform(tensor, low, high):
        tensor.data.copy_(torch.rand(tensor.shape, generator=generator) * (high - low) + low)

    for layer in module.modules():
        if hasattr(layer, "running_mean") and layer.running_mean is not None:
            uniform(layer.running_mean, -0.3, 0.3)
            uniform(layer.running_var, 0.5, 1.5)
        if "Norm" in type(layer).__name__:
            for name, low, high in (("weight", 0.7, 1.3), ("bias", -0.2, 0.2)):
                if getattr(layer, name, None) is not None:
                    uniform(getattr(layer, name), low, high)
        elif getattr(layer, "bias", None) is not None and hasattr(layer.bias, "data"):
            uniform(layer.bias, -0.1, 0.1)
        if isinstance(layer, torch.nn.Linear) and not layer.weight.any():  # of heads, when training begins
            torch.nn.init.normal_(layer.weight, 0, 0.1, generator=generator)
        if isinstance(getattr(layer, "gamma", None), torch.nn.Parameter):  # of a block's result, 1e-6 when training begins
            uniform(layer.gamma, 0.2, 0.8)
        if type(layer).__name__ in ("Conv1d", "Conv2d", "ConvTranspose2d"):
            torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    return module.eval()


def example(one: Input):
    import torch

    generator = torch.Generator().manual_seed(3)
    dims = dims_of(one)
    if one.kind == "ids":
        return torch.randint(one.limit, dims, generator=generator)
    if one.kind == "mask":
        return torch.ones(dims, dtype=torch.int64)
    return torch.randn(dims, generator=generator)


class Exporter:
    """The files of one architecture that only PyTorch can make."""

    def __init__(self, what: Architecture):
        import torch

        torch.manual_seed(1)
        torch.set_num_threads(1)
        self.what, self.module = what, shake(what.build())
        self.arguments = tuple(example(one) for one in what.inputs)

    def torchscript(self, file: pathlib.Path, module=None, arguments=None, **words):
        import torch

        axes = {one.name: {i: dim for i, dim in enumerate(one.dims) if isinstance(dim, str)} for one in self.what.inputs}
        torch.onnx.export(module or self.module, arguments or self.arguments, str(file), dynamo=False, opset_version=OPSET,
                          input_names=[one.name for one in self.what.inputs], output_names=["result"], dynamic_axes=axes, **words)

    def original(self, file):
        """Nothing is folded: each BatchNormalization is a node."""
        import torch

        self.torchscript(file, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)

    def folded(self, file):
        self.torchscript(file)

    def fx(self, file):
        import torch
        from torch.fx.experimental.optimization import fuse

        if not any(isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) for layer in self.module.modules()):
            raise ValueError("there is no BatchNormalization to fuse")
        self.torchscript(file, fuse(self.module))

    def dynamo(self, file):
        import torch

        shapes = tuple({i: torch.export.Dim.DYNAMIC for i, dim in enumerate(one.dims) if isinstance(dim, str)} for one in self.what.inputs)
        self.program = torch.onnx.export(self.module, self.arguments, dynamo=True, optimize=False, opset_version=18, verbose=False,
                                         input_names=[one.name for one in self.what.inputs], output_names=["result"], dynamic_shapes=shapes)
        self.program.save(str(file))

    def dynamo_optimized(self, file):
        self.program.optimize()
        self.program.save(str(file))

    def half(self, file):
        import copy

        arguments = tuple(one.half() if one.is_floating_point() else one for one in self.arguments)
        self.torchscript(file, copy.deepcopy(self.module).half(), arguments)
