"""Uses the client that openapi-python-client has generated: a check, a policy, and a key that is refused.

Arguments: the address of the service and an API key. Prints one line of JSON.
"""

import json
import sys

from sluice_api import AuthenticatedClient
from sluice_api.api.deciding import check, check_batch, reserve, settle
from sluice_api.api.policies import get_policy, put_policy
from sluice_api.models import (
    Batch,
    Check,
    CheckError,
    Failure,
    FixedWindowRule,
    FixedWindowRuleAlgorithm,
    PolicySpec,
    Reserve,
    Settle,
    UnitsByRule,
)

url, key = sys.argv[1:]


def client_with(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=url, token=token, prefix="", auth_header_name="Api-Key")


seen = {}
with client_with(key) as client:
    rule = FixedWindowRule(algorithm=FixedWindowRuleAlgorithm.FIXED_WINDOW, limit=10, window="1h", name="requests")
    added = put_policy.sync(client=client, name="python", body=PolicySpec(client="snake", rules=[rule]))
    seen["added"] = [added.meta.code, added.data.source.value]

    read = get_policy.sync(client=client, name="python")
    seen["policy"] = [read.data.client, read.data.mode.value, read.data.rules[0].limit, read.data.rules[0].window]

    first = check.sync(client=client, body=Check(client_id="snake", route="/a", cost=4))
    seen["first"] = [first.data.status.value, first.data.limit, first.data.remain]

    denied = check.sync(client=client, body=Check(client_id="snake", route="/a", cost=7))
    seen["denied"] = [denied.data.status.value, denied.data.retryable, 0 < denied.data.retry_after_ms <= 3_600_000]

    batch = check_batch.sync(client=client, body=Batch(checks=[Check(client_id="snake", route="/b")] * 2))
    seen["batch"] = [result.remain for result in batch.data.results if not isinstance(result, CheckError)]

    units = UnitsByRule()
    units["requests"] = 5
    held = reserve.sync(client=client, body=Reserve(client_id="snake", route="/c", hold=units))
    ended = settle.sync(client=client, body=Settle(token=held.data.token, used=2))
    seen["hold"] = [held.data.granted["requests"], ended.data.used["requests"]]

    wrong = check.sync(client=client, body=Check(client_id="", route="/a"))
    assert isinstance(wrong, Failure)
    seen["wrong"] = [wrong.meta.code, wrong.meta.error, wrong.meta.problems[0].at]

with client_with("sluice_wrong") as stranger:
    refused = check.sync_detailed(client=stranger, body=Check(client_id="snake", route="/a"))
    assert isinstance(refused.parsed, Failure)
    seen["refused"] = [refused.status_code, refused.parsed.meta.error]

print(json.dumps(seen))
