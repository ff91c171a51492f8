"""Asks a token endpoint with Python's requests, once for each form on stdin, and prints status, headers and body."""
import json
import sys

import requests

script = json.load(sys.stdin)
for one in script["requests"]:
    answer = requests.request(
        one.get("method", "POST"),
        script["url"] + one.get("path", "/connect/token"),
        data=one.get("form"),
        auth=tuple(one["basic"]) if "basic" in one else None,
        headers=one.get("headers"),
        verify=script["ca"],
        timeout=20,
    )
    try:
        body = answer.json()
    except ValueError:
        body = answer.text
    print(json.dumps({"status": answer.status_code, "headers": {k.lower(): v for k, v in answer.headers.items()}, "body": body}))
