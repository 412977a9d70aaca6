"""What CI services read, run as the services run them: the action's steps with GITHUB_* files, the component's script with its variables,
the hook by pre-commit itself. And what README proposes: every input that it names is one of theirs."""

import os
import re
import shlex
import shutil
import sys
import unittest
from pathlib import Path

from places import PLAIN, TOP, Folder, one, ran, run

SOURCES = TOP / "cmake/package"


def block(text, key):
    """Lines of a YAML text that are indented deeper than the line that ends in `key`, without their common indent."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().endswith(key))
    indent = len(lines[at]) - len(lines[at].lstrip())
    inside = []
    for line in lines[at + 1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        inside.append(line)
    least = min((len(line) - len(line.lstrip()) for line in inside if line.strip()), default=0)
    return "\n".join(line[least:] for line in inside).strip("\n")


def fields(text, parent):
    """Names of the entries of a mapping and the default of each."""
    out, name = {}, None
    for line in block(text, parent).splitlines():
        if re.match(r"^[a-z-]+:", line):
            name = line.split(":")[0]
            out[name] = None
        elif name and line.strip().startswith("default:"):
            out[name] = line.split(":", 1)[1].strip().strip('"')
    return out


def manual_block(marker):
    text = (TOP / "src/cli/manual/ci.md").read_text()
    return re.search(r"```yaml\n(.*?)```", text[text.index(marker):], re.S)[1]


class Services(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "models/sub folder").mkdir(parents=True)
        for name in ("good", "sub folder/bad"):
            shutil.copy(self.folder / "net.onnx", self.folder / f"models/{name}.onnx")
            ran(PLAIN, "convert", "--quiet", f"models/{name}.onnx", cwd=self.folder)
        (self.folder / "net.onnx").unlink()
        self.path = f"{PLAIN.parent}:/usr/local/bin:/usr/bin:/bin"

    def spoil(self):
        """One converted model computes something else: a bit of an exponent in the middle of its weights."""
        path = self.folder / "models/sub folder/bad.cl.onnx"
        data = bytearray(path.read_bytes())
        for at in range(len(data) // 2, len(data) // 2 + 4000, 4):
            data[at] ^= 0x40
        path.write_bytes(data)


class Action(Services):
    text = (SOURCES / "action/action.yml").read_text()

    def step(self, name, inputs):
        """A step of the action as the runner starts it."""
        files = {}
        for kind in ("OUTPUT", "STEP_SUMMARY", "PATH"):
            (self.folder / kind).touch()
            files["GITHUB_" + kind] = str(self.folder / kind)
        values = dict(fields(self.text, "inputs:"), **inputs)
        lines = block(self.text, f"name: {name}")
        variables = dict(re.findall(r"(\w+): \$\{\{ inputs\.([a-z]+) \}\}", lines))
        environment = {variable: values[given] for variable, given in variables.items()}
        script = re.search(r"run: '(.*)'", lines)[1]
        environment.update(files, PATH=self.path, HOME=str(self.folder), RUNNER_TEMP=str(self.folder), GITHUB_ACTION_PATH=str(SOURCES / "action"))
        return run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script, cwd=self.folder, env=environment)

    def test_good_models(self):
        done = self.step("verify models", {})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("::error", done.stdout)
        self.assertIn("exit-code=0\n", (self.folder / "OUTPUT").read_text())
        self.assertEqual((self.folder / "STEP_SUMMARY").read_text().count("✅ passed"), 2)

    def test_a_wrong_model(self):
        self.spoil()
        done = self.step("verify models", {"models": "models/*.cl.onnx\nmodels/sub folder/*.cl.onnx\n", "options": "--samples 2"})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        errors = [line for line in done.stdout.splitlines() if line.startswith("::error")]
        self.assertEqual(len(errors), 1)
        self.assertTrue(errors[0].startswith("::error file=models/sub folder/bad.cl.onnx,title=relayout verify::"), errors)
        self.assertIn("first wrong node", errors[0])
        summary = (self.folder / "STEP_SUMMARY").read_text()
        self.assertEqual((summary.count("✅ passed"), summary.count("❌ failed")), (1, 1))
        outputs = dict(line.split("=", 1) for line in (self.folder / "OUTPUT").read_text().splitlines())
        self.assertEqual(outputs["exit-code"], "1")
        self.assertIn("<failure", Path(outputs["junit"]).read_text())
        # The output of the program is between the two lines that switch commands off and on; the annotation is after them.
        lines = done.stdout.splitlines()
        token = lines[0][len("::stop-commands::"):]
        self.assertGreater(len(token), 20)
        self.assertLess(lines.index(f"::{token}::"), lines.index(errors[0]))

    def test_no_models_is_an_error(self):
        done = self.step("verify models", {"models": "nothing/*.onnx"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("::error title=relayout verify::no file matches nothing/*.onnx", done.stdout)

    @unittest.skipIf(os.environ.get("RELAYOUT_INSIDE"), "cmake/dev package test installs the wheel")
    def test_installs_what_is_missing(self):
        done = self.step("install relayout", {})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "PATH").read_text(), "")
        wheels = sorted((TOP / "build/package").glob("*.whl"))
        if not wheels:
            self.skipTest("no wheel in build/package: the step that installs it is not run")
        python = Path(sys.executable).resolve().parent
        self.path = f"{python}:/usr/bin:/bin"
        done = self.step("install relayout", {"package": str(wheels[-1])})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.path = (self.folder / "PATH").read_text().strip() + ":" + self.path
        self.assertEqual(self.step("verify models", {}).returncode, 0)

    def test_readme(self):
        text = manual_block("**GitHub**")
        given = dict(re.findall(r"^([a-z-]+): (.*)$", block(text, "with:"), re.M))
        self.assertNotEqual(given, {})
        self.assertEqual(set(given) - set(fields(self.text, "inputs:")), set())
        self.assertEqual(self.step("verify models", {key: value.strip("\"'") for key, value in given.items()}).returncode, 0)


class Component(Services):
    text = (SOURCES / "gitlab/templates/verify.yml").read_text()

    def job(self, inputs):
        """The job's script in the shell of an image that has no bash."""
        spec, job = self.text.split("\n---\n")
        values = dict(fields(spec, "inputs:"), **inputs)
        environment = {}
        for name, value in re.findall(r'(\w+): "(.*)"$', block(job, "variables:"), re.M):
            environment[name] = re.sub(r"\$\[\[ inputs\.([a-z-]+) \]\]", lambda found: values[found[1]], value)
        script = block(block(job, "script:"), "- |")
        return run("/bin/sh", "-e", "-c", script, cwd=self.folder, env=dict(environment, PATH=self.path, HOME=str(self.folder), CI="true"))

    def test_good_models(self):
        done = self.job({})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 models: 2 same", done.stdout)
        self.assertEqual((self.folder / "relayout-junit.xml").read_text().count("<testsuite "), 2)

    def test_a_wrong_model(self):
        self.spoil()
        done = self.job({"folder": "models", "options": "--samples 2"})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("<failure", (self.folder / "relayout-junit.xml").read_text())
        self.assertIn("❌ failed", (self.folder / "relayout-summary.md").read_text())

    def test_no_models_is_an_error(self):
        self.assertEqual(self.job({"models": "*.no"}).returncode, 2)

    def test_artifacts_are_what_the_script_writes(self):
        for name in ("relayout-junit.xml", "relayout-summary.md"):
            self.assertIn(name, block(self.text.split("\n---\n")[1], "artifacts:"))

    def test_readme(self):
        text = manual_block("**GitLab**")
        given = dict(re.findall(r"^([a-z-]+): (.*)$", block(text, "inputs:"), re.M))
        self.assertNotEqual(given, {})
        self.assertEqual(set(given) - set(fields(self.text, "inputs:")), set())
        self.assertEqual(self.job({key: value.strip("\"'") for key, value in given.items()}).returncode, 0)


class Hook(Services):
    def git(self, *words):
        ran("git", "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=self.place)

    def repository(self, files):
        ran("git", "init", "-q", ".", cwd=self.place)
        self.git("add", *files)
        self.git("commit", "-q", "--no-verify", "-m", "first")

    def test_entry_takes_a_list_of_files(self):
        text = (SOURCES / "pre-commit/.pre-commit-hooks.yaml").read_text()
        entry = shlex.split(re.search(r"entry: >-\n((?:    .*\n)+)", text)[1].replace("\n    ", " "))
        pattern = re.compile(re.search(r"files: (.*)", text)[1])
        environment = dict(os.environ, PATH=self.path)

        def hook(*names):
            self.assertTrue(all(pattern.search(name) for name in names))
            return run(*entry, *names, cwd=self.folder, env=environment)

        converted = ["models/good.cl.onnx", "models/sub folder/bad.cl.onnx"]
        both = [*converted, "models/good.onnx", "models/sub folder/bad.onnx", "models/sub folder/bad.onnx.data"]
        self.assertEqual(hook(*converted).returncode, 0)
        self.assertIn("2 models: 2 same", hook(*both).stdout)
        self.assertEqual(hook("models/alone.onnx").returncode, 0)  # not converted: nothing to compare
        self.spoil()
        self.assertEqual(hook("models/good.onnx").returncode, 0)
        # Any file of a pair selects it, its original alone too.
        for name in ("bad.cl.onnx", "bad.onnx", "bad.cl.onnx.data"):
            self.assertNotEqual(hook("models/sub folder/" + name).returncode, 0, name)

    @unittest.skipIf(os.environ.get("RELAYOUT_INSIDE"), "cmake/dev package test installs the wheel")
    def test_by_pre_commit(self):
        """pre-commit clones the hook's repository, builds it and installs the wheel: nothing of relayout is on the PATH."""
        program = os.environ.get("RELAYOUT_PRE_COMMIT") or shutil.which("pre-commit")
        if not program:
            self.skipTest("no pre-commit on this machine (RELAYOUT_PRE_COMMIT names one)")
        if not (TOP / "build/package/pre-commit").exists():
            self.skipTest("no hook in build/package: cmake/dev package makes it")
        wheels = one("*.whl").parent
        hook = self.folder / "hook"
        shutil.copytree(TOP / "build/package/pre-commit", hook)
        self.place = hook
        self.repository([".pre-commit-hooks.yaml", "pyproject.toml"])
        self.place = self.folder / "models"
        self.repository(["."])
        environment = dict(os.environ, PIP_FIND_LINKS=str(wheels), PRE_COMMIT_HOME=str(self.folder / "home"))
        environment["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        words = (program, "try-repo", str(hook), "relayout-verify", "--all-files", "--verbose")
        good = run(*words, cwd=self.place, env=environment)
        if "No matching distribution found for setuptools" in good.stdout + good.stderr:
            self.skipTest("no package index: the hook's repository cannot be built")
        self.assertEqual(good.returncode, 0, good.stdout[-1500:] + good.stderr)
        self.assertIn("2 models: 2 same", good.stdout)
        self.spoil()
        bad = run(*words, cwd=self.place, env=environment)
        self.assertEqual(bad.returncode, 1, bad.stdout[-1500:])
        self.assertIn("1 different", bad.stdout)


if __name__ == "__main__":
    unittest.main()
