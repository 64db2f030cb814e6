"""Small valid documents as text, for tests of what is done with documents."""

SECRET = "sk-planted-1234"

TWIN = f"""\
apiVersion: agenttwin.dev/v1
kind: TwinDefinition
metadata:
  name: shop
spec:
  secrets: [{SECRET}]
  initialState:
    orders:
      ORD-1: {{id: ORD-1, total: 40}}
    key: {SECRET}
  tools:
    lookup_order:
      handler:
        kind: read
        path: orders.{{order_id}}
"""

SCENARIO = """\
apiVersion: agenttwin.dev/v1
kind: Scenario
metadata:
  name: refund
  severity: critical
  tags: [smoke, money]
spec:
  agent: helper
  twin: shop
  input:
    message: Where is my order ORD-1?
  expectations:
    - type: toolCalled
      tool: lookup_order
"""

AGENT = """\
apiVersion: agenttwin.dev/v1
kind: Agent
metadata:
  name: helper
  version: 1.0.0
spec:
  instructions: Look before you answer.
  model:
    provider: scripted
    name: planner
  tools:
    - name: lookup_order
      risk: READ
"""


def twin(total: object = 40, name: str = "shop") -> str:
    """The twin with another total of its order: other content."""
    return TWIN.replace("total: 40", f"total: {total}").replace("name: shop", f"name: {name}")


def scenario(message: str = "Where is my order ORD-1?", **replaced: str) -> str:
    text = SCENARIO.replace("Where is my order ORD-1?", message)
    for old, new in replaced.items():
        text = text.replace(f"{old}: ", f"{old}: {new} #")
    return text


def agent(version: str = "1.0.0", instructions: str = "Look before you answer.", name: str = "helper") -> str:
    text = AGENT.replace("1.0.0", version).replace("Look before you answer.", instructions)
    return text.replace("name: helper", f"name: {name}")
