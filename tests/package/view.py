"""`carom view` answers a browser: the page comes, with the token and not without it."""

import json
import subprocess
import urllib.error
import urllib.request

server = subprocess.Popen(["carom", "view", "ball_drop", "--no-open", "--json"], stdout=subprocess.PIPE, text=True)
try:
    told = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
    address = told["address"]
    page = urllib.request.urlopen(address, timeout=20).read().decode()
    assert "<!doctype html>" in page.lower(), page[:200]
    try:
        urllib.request.urlopen(address.split("?")[0], timeout=20)
        raise SystemExit("view: the page came without its token")
    except urllib.error.HTTPError as refused:
        assert refused.code == 403, refused
finally:
    server.terminate()
    server.wait(timeout=20)
print(f"carom view: {len(page)} bytes of page")
