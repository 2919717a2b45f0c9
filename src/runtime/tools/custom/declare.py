"""Reads declarations from the syntax tree without running the file. Prints one JSON line per file."""
import ast, json, re, sys

PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array"}

def name_of(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""

def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None

def schema(node):
    """(JSON schema, is optional)"""
    if node is None:
        return {"type": "string"}, False
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return schema(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [each for each in (node.left, node.right) if not is_none(each)]
        inner, optional = schema(sides[0]) if sides else ({}, True)
        return inner, optional or len(sides) < 2
    if isinstance(node, ast.Subscript):
        base, inside = name_of(node.value), node.slice
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if base == "Optional":
            return schema(inside)[0], True
        if base == "Union":
            rest = [each for each in parts if not is_none(each)]
            return schema(rest[0])[0], len(rest) < len(parts)
        if base == "Literal":
            return {"type": "string", "enum": [each.value for each in parts]}, False
        if base in ("list", "List", "Sequence", "Iterable", "set", "Set"):
            return {"type": "array", "items": schema(parts[0])[0]}, False
        return {"type": PLAIN.get(base.lower(), "string")}, False
    return {"type": PLAIN.get(name_of(node).lower(), "string")}, False

def arguments_of(text):
    """The words of the section Args, by name."""
    found, current, inside = {}, None, False
    for line in text.splitlines():
        if re.match(r"\s*(Args|Arguments|Parameters):\s*$", line):
            inside = True
            continue
        if inside and re.match(r"\s*(Returns?|Raises|Yields|Examples?|Notes?):\s*$", line):
            break
        if not inside or not line.strip():
            continue
        match = re.match(r"\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$", line)
        if match:
            current = match.group(1)
            found[current] = match.group(2).strip()
        elif current:
            found[current] += " " + line.strip()
    return found

def declare(node):
    text = ast.get_docstring(node) or ""
    words = arguments_of(text)
    properties, required = {}, []
    plain = node.args.posonlyargs + node.args.args
    defaults = [None] * (len(plain) - len(node.args.defaults)) + list(node.args.defaults)
    pairs = list(zip(plain, defaults)) + list(zip(node.args.kwonlyargs, node.args.kw_defaults))
    for argument, default in pairs:
        one, optional = schema(argument.annotation)
        if argument.arg in words:
            one["description"] = words[argument.arg]
        properties[argument.arg] = one
        if default is None and not optional:
            required.append(argument.arg)
    head = re.split(r"\n\s*(?:Args|Arguments|Parameters|Returns?|Raises):\s*\n?", text)[0].strip()
    return {"name": node.name, "description": head, "properties": properties, "required": required}

for path in sys.argv[1:]:
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), path)
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        print(json.dumps({"functions": [declare(node) for node in tree.body if isinstance(node, kinds)]}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
