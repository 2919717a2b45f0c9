"""Calls one function of a file with the JSON on its input."""
import asyncio, importlib.util, inspect, json, os, sys

path, name = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.dirname(path))
given = json.load(sys.stdin)
spec = importlib.util.spec_from_file_location("reef_tool", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
result = getattr(module, name)(**given)
if inspect.isawaitable(result):
    async def wait():
        return await result
    result = asyncio.run(wait())
if result is not None:
    with open(os.environ["LLM_OUTPUT"], "w", encoding="utf-8") as file:
        file.write(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
