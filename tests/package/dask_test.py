"""`python -m relayout.dask`: a scheduler and workers on this machine, one of which is killed in mid-case."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from places import PLAIN, TOP, ran, run

# A program in which every case takes a while, so that a worker can be killed while one runs.
SLOW = """#!/bin/sh
case "$*" in *--case*) : > "$RUNNING/$PPID"; sleep 0.3; rm -f "$RUNNING/$PPID" ;; esac
exec "{program}" "$@"
"""


class WhatIsMissing(unittest.TestCase):
    def line(self, *words):
        environment = {**os.environ, "PYTHONPATH": str(TOP / "cmake/package/python")}
        done = subprocess.run([sys.executable, "-m", "relayout.dask", "--suite", str(TOP / "testdata"), *words], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_the_program(self):
        # The source tree holds the modules only; the program comes with the package.
        self.assertIn("--program FILE names the program", self.line("--scheduler", "scheduler.json"))
        self.assertIn("nowhere/relayout: No such file", self.line("--scheduler", "scheduler.json", "--program", "nowhere/relayout"))

    def test_the_cluster(self):
        line = self.line("--scheduler", "scheduler.json", "--program", str(PLAIN))
        self.assertIn("--scheduler scheduler.json" if importlib.util.find_spec("distributed") else "pip install distributed", line)


@unittest.skipUnless(importlib.util.find_spec("distributed"), "no Dask (pip install distributed) in this Python")
class Dask(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-dask-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in "abcdefgh":
            shutil.copytree(TOP / "testdata/resnet18_eighth", self.folder / "suite" / name)
        for name in "ab":
            (self.folder / "suite" / name / "test_data_set_0/output_0.pb").write_bytes(b"no tensor")
        (self.folder / "running").mkdir()
        self.program = self.folder / "relayout"
        self.program.write_text(SLOW.format(program=PLAIN))
        self.program.chmod(0o755)
        self.environment = {**os.environ, "RUNNING": str(self.folder / "running"), "PYTHONPATH": str(TOP / "cmake/package/python")}
        self.start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", self.folder / "scheduler")
        self.until(lambda: (self.folder / "scheduler").exists())
        self.workers = [self.worker() for _ in range(2)]

    def start(self, module, *words):
        process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + module, *map(str, words)], cwd=self.folder, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def worker(self):
        return self.start("dask_worker", "--scheduler-file", self.folder / "scheduler", "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come")
            time.sleep(0.02)

    def driver(self, *words):
        command = [sys.executable, "-m", "relayout.dask", "--scheduler", "scheduler", "--program", str(self.program), "--suite", "suite", *words]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def report(self, driver):
        out, err = driver.communicate(timeout=120)
        self.assertEqual(driver.returncode, 1, err)
        return json.loads(out)

    @staticmethod
    def timeless(report):
        report["summary"]["seconds"] = 0
        for case in report["cases"]:
            case["seconds"] = 0
        return report

    def test_a_killed_worker_loses_nothing(self):
        driver = self.driver("--json", "--junit", "report.xml")
        busy = []
        self.until(lambda: busy.extend(worker for worker in self.workers if (self.folder / "running" / str(worker.pid)).exists()) or busy)
        busy[0].send_signal(signal.SIGKILL)
        merged = self.timeless(self.report(driver))
        local = run(PLAIN, "verify", "--suite", "suite", "--json", cwd=self.folder)
        self.assertEqual(merged, self.timeless(json.loads(local.stdout)))
        self.assertIn("<testsuites", (self.folder / "report.xml").read_text())

    def test_options_reach_the_cases(self):
        (self.folder / "durations").write_text(ran(PLAIN, "verify", "--suite", "suite", "--json", "--case", "c", cwd=self.folder))
        (self.folder / "names").write_text("a\nc\n")
        report = self.report(self.driver("--json", "--durations", "durations", "--cases-from", "names", "--seed", "7"))
        self.assertEqual([case["name"] for case in report["cases"]], ["a", "c"])
        self.assertIn("7", report["options"])

    def test_what_no_worker_can_run_is_an_error(self):
        self.program.write_text("#!/bin/sh\ncase \"$*\" in *--case*) exit 70 ;; esac\nexec '{}' \"$@\"\n".format(PLAIN))
        driver = self.driver("--json", "--retries", "1")
        _, err = driver.communicate(timeout=120)
        self.assertEqual(driver.returncode, 5, err)
        self.assertIn("8 of 8 cases could not be run", err)

    def test_usage_is_that_of_the_program(self):
        driver = self.driver("--case", "nowhere")
        _, err = driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 2, err)
        self.assertIn("'nowhere'", err)


# Replaces a cluster's command that starts a program on every node: two nodes, both on this machine.
EVERYWHERE = """#!/bin/sh
[ "$1" != -- ] || shift
one='' two=''
trap 'kill $one $two' TERM
"$@" & one=$!
"$@" & two=$!
wait $one
wait $one $two
"""


@unittest.skipUnless(importlib.util.find_spec("distributed"), "no Dask (pip install distributed) in this Python")
class Recipes(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relayout-dask-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in "abc":
            shutil.copytree(TOP / "testdata/resnet18_eighth", self.folder / "suite" / name)
        (self.folder / "suite/b/test_data_set_0/output_0.pb").write_bytes(b"no tensor")
        for name in ("srun", "pbsdsh"):
            (self.folder / "bin" / name).parent.mkdir(exist_ok=True)
            (self.folder / "bin" / name).write_text(EVERYWHERE)
            (self.folder / "bin" / name).chmod(0o755)

    def judged(self, script, **environment):
        done = run(TOP / "cmake/package/cluster" / script, "--suite", "suite", "--program", PLAIN, "--json", cwd=self.folder, timeout=120,
                   env={**os.environ, "PATH": "{}:{}".format(self.folder / "bin", os.environ["PATH"]), "PYTHON": sys.executable,
                        "PYTHONPATH": str(TOP / "cmake/package/python"), **environment})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([path.name for path in self.folder.glob("cluster-*")], [])
        return {case["name"]: case["status"] for case in json.loads(done.stdout)["cases"]}

    def test_slurm(self):
        self.assertEqual(self.judged("slurm.sh", SLURM_JOB_ID="7"), {"a": "passed", "b": "failed", "c": "passed"})

    def test_pbs(self):
        self.assertEqual(self.judged("pbs.sh", PBS_JOBID="7", PBS_O_WORKDIR=str(self.folder)), {"a": "passed", "b": "failed", "c": "passed"})

    def test_kubernetes(self):
        import yaml  # comes with distributed

        parts = {(part["kind"], part["metadata"]["name"]): part["spec"] for part in
                 yaml.safe_load_all((TOP / "cmake/package/cluster/kubernetes.yaml").read_text())}
        service = parts["Service", "relayout-scheduler"]
        address = "tcp://relayout-scheduler:{}".format(service["ports"][0]["port"])
        containers = {}
        for (kind, _), spec in parts.items():
            if kind == "Service":
                continue
            pod = spec["template"]["spec"]
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            for container in pod["containers"]:
                containers[container["name"]] = container
                module = container["command"][2]
                self.assertTrue(module == "relayout.dask" or importlib.util.find_spec(module), module)
                self.assertTrue(all(mount["name"] in volumes for mount in container.get("volumeMounts", [])))
            if kind == "Deployment":
                self.assertEqual(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"])
        self.assertEqual(service["selector"], parts["Deployment", "relayout-scheduler"]["template"]["metadata"]["labels"])
        self.assertIn(address, containers["worker"]["command"])
        self.assertIn(address, containers["driver"]["command"])
        self.assertEqual(containers["worker"]["volumeMounts"], containers["driver"]["volumeMounts"])


if __name__ == "__main__":
    unittest.main()
