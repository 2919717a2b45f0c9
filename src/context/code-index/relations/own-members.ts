/** Members of values that every language brings: `list.append` is no method of a repository's that happens to be the only `append`. */
const OTHERS = `add append apply as_str bytes call capitalize clear clone close commit compile connect contains copy count cursor
  dec decode delete done each emit empty encode end endswith equals error execute exists extend extract fetch filter find findall
  first flush format forEach get getattr getItem getvalue group groups handle has hash hasNext header headers hex id index info init
  insert inspect intersection into is_empty isoformat items iter join json key keys kind last len length line list load loads lock
  log lower lstrip main map match max message method min mkdir name new next none object offset ok on open options parent parse path
  pop popitem position post print push put query raise read readline readlines reason receive recv register release remove render
  repeat replace request reset resolve resume result retain reverse rfind rollback root rows rsplit rstrip run save scan seek select
  self send serve set setdefault setItem setup shape shutdown size skip sleep sort source splitlines splice start starts_with startswith
  stat state status stop str string strip sub submit sum swapcase symbol sync take tail tell test text then time title to_s to_string
  toString total trim truncate type union unlock unwrap update upper url use value values view wait walk warn warning write writelines
  zip Error String Close Read Write Lock Unlock Len Less Swap Get Set Add Done Wait Run Start Stop Name Type Value Next Scan Err
  Print Printf Println Fatal Fatalf Errorf Sprintf Log Logf Marshal Unmarshal Format Parse`;

const SCRIPT = [Array, String, Map, Set, Promise, RegExp, Object, Function, Number, Date].flatMap((type) =>
  Object.getOwnPropertyNames(type.prototype).concat(Object.getOwnPropertyNames(type)),
);

const MEMBERS: ReadonlySet<string> = new Set([...SCRIPT, ...OTHERS.split(/\s+/)]);

export function isOwnMember(name: string): boolean {
  return MEMBERS.has(name);
}
