"""Start to ready, memory at rest, and the CPU of a request against that of a bare FastAPI application."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx2
import psutil

PLUGBAY = Path(sys.executable).with_name("plugbay")
REQUESTS = 2000
PASSWORD = "for the benchmark"
LOGIN = {"username": "admin", "password": PASSWORD, "next": "/"}
PAGES = (
    "/",
    "/scheduled_query/",
    "/scheduled_query/dashboard",
    "/scheduled_query/results-widgets",
    "/scheduled_query/sources",
    "/scheduled_query/create",
    "/admin/plugins",
    "/openapi.json",
    "/metrics",
)
ALONE = """
import plugbay.plugins.manager
plugbay.plugins.manager.find_installed = list
from plugbay.cli import main
main()
"""
BARE = """
import uvicorn, socket
from fastapi import FastAPI
app = FastAPI()
@app.get("/healthz")
async def healthz(): return {"status": "alive"}
s = socket.socket(); s.bind(("127.0.0.1", 0))
print(f"running on http://127.0.0.1:{s.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[s])
"""


class Running:
    """A server process and how long it took to answer."""

    def __init__(self, command: list[str], folder: str, samples: bool = False) -> None:
        variables = {
            "PLUGBAY_ADMIN_PASSWORD": PASSWORD,
            "PLUGBAY_SAMPLES": str(samples).lower(),
            "PYTHONUNBUFFERED": "1",
        }
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout
        line = next(line for line in self.process.stdout if "running on" in line)
        self.url = re.findall(r"http://\S+", line)[0]
        self.client = httpx2.Client(base_url=self.url)
        self.client.get("/readyz")
        self.ready_s = time.perf_counter() - started
        self.ps = psutil.Process(self.process.pid)

    def cpu_s(self) -> float:
        times = self.ps.cpu_times()
        return times.user + times.system

    def cost_ms(self, path: str, **options: object) -> float:
        """CPU of one request, in milliseconds of the server's process."""
        for _ in range(50):
            self.client.get(path, follow_redirects=False, **options)
        before = self.cpu_s()
        for _ in range(REQUESTS):
            self.client.get(path, follow_redirects=False, **options)
        return (self.cpu_s() - before) / REQUESTS * 1000

    def memory(self) -> str:
        """What is resident now, and was at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        now, most = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "VmHWM"))
        return f"{now * 1024 / 1e6:.0f} MB, at most {most * 1024 / 1e6:.0f} MB"

    def use(self, times: int = 20) -> None:
        """A few logins, and so many visits of each page and runs of each query."""
        for _ in range(5):
            self.client.post("/login", data=LOGIN)
        with httpx2.Client(base_url=self.url, auth=("admin", PASSWORD), timeout=60) as api:
            queries = [item["id"] for item in api.get("/api/scheduled-queries").json()["data"]]
            pages = [*PAGES, *(f"/scheduled_query/query/{query_id}" for query_id in queries)]
            for _ in range(times):
                for page in pages:
                    assert self.client.get(page, timeout=60, follow_redirects=True).status_code == 200, page
                for query_id in queries:
                    assert api.post(f"/api/run-now/{query_id}").status_code == 200

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        host_alone = [sys.executable, "-c", ALONE, "serve", "--port", "0"]
        Running(host_alone, folder).stop()
        starts = []
        for _ in range(5):
            server = Running(host_alone, folder)
            starts.append(server.ready_s)
            server.stop()
        print(f"start to ready, host alone (median of 5 second starts): {median(starts):.2f} s")
        server = Running(host_alone, folder)
        print(f"memory at rest, host alone: {server.ps.memory_info().rss / 1e6:.0f} MB")
        costs = {
            "anonymous /healthz": server.cost_ms("/healthz"),
            "anonymous page (303 to the login)": server.cost_ms("/"),
            "anonymous /metrics (401)": server.cost_ms("/metrics"),
        }
        server.client.post("/login", data=LOGIN)
        costs["page with a session"] = server.cost_ms("/")
        server.stop()
        bare = Running([sys.executable, "-c", BARE], folder)
        floor = bare.cost_ms("/healthz")
        bare.stop()
        print(f"CPU of a request to a bare FastAPI application: {floor:.3f} ms")
        for name, cost in costs.items():
            print(f"CPU of {name}: {cost:.3f} ms ({cost / floor:.1f} times the bare one)")
    with tempfile.TemporaryDirectory() as folder:
        everything = [str(PLUGBAY), "serve", "--port", "0"]
        Running(everything, folder).stop()
        server = Running(everything, folder)
        print(f"start to ready, all plugins: {server.ready_s:.2f} s")
        print(f"memory at rest, all plugins, server process: {server.ps.memory_info().rss / 1e6:.0f} MB")
        runners = server.ps.children(recursive=True)
        print(f"runners: {[f'{child.memory_info().rss / 1e6:.0f} MB' for child in runners]}")
        server.stop()
    bench_use(everything)


def bench_use(everything: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for start in ("first", "second"):
            server = Running(everything, folder, samples=True)
            print(f"memory with samples, {start} start: {server.memory()}")
            server.use()
            print(f"the same in use: {server.memory()}")
            server.stop()


if __name__ == "__main__":
    main()
