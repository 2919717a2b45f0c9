/** What `highlight.ts` uses of a mode of CodeMirror. Their own types describe a hundred of them, and an editor. */
declare module '@codemirror/streamparser' {
  export class StringStream {
    constructor(line: string, tabSize: number, indentUnit: number);
    pos: number;
    start: number;
    eol(): boolean;
    current(): string;
  }
}
declare module '@codemirror/legacy-modes/mode/*' {
  interface Mode {
    startState?(indentUnit: number): unknown;
    token(stream: import('@codemirror/streamparser').StringStream, state: unknown): string | null | undefined;
    blankLine?(state: unknown, indentUnit: number): void;
  }
  export const c: Mode, cpp: Mode, csharp: Mode, dart: Mode, java: Mode, kotlin: Mode, objectiveC: Mode, scala: Mode;
  export const css: Mode, sCSS: Mode, diff: Mode, dockerFile: Mode, go: Mode, haskell: Mode, html: Mode, xml: Mode;
  export const javascript: Mode,
    json: Mode,
    typescript: Mode,
    lua: Mode,
    perl: Mode,
    powerShell: Mode,
    properties: Mode;
  export const python: Mode, r: Mode, ruby: Mode, rust: Mode, shell: Mode, standardSQL: Mode, swift: Mode, toml: Mode;
  export const yaml: Mode;
}
