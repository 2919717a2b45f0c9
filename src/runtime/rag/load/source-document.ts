/** One document of a RAG, not yet read. */
export interface SourceDocument {
  /** Path or URL; the name of the document. */
  source: string;
  /** What turns its content into text; part of its hash, so that a changed loader loads again. */
  loadedBy: string;
  content(): Promise<Uint8Array>;
  text(): Promise<string>;
}
