/** The payload of an event. It may be cut to its cap or written by a newer Reef, so every field is checked. */
export class Payload {
  readonly #fields: Record<string, unknown>;

  constructor(fields: Record<string, unknown>) {
    this.#fields = fields;
  }

  text(key: string): string {
    const value = this.#fields[key];
    return typeof value === 'string' ? value : '';
  }

  number(key: string): number | undefined {
    const value = this.#fields[key];
    return typeof value === 'number' ? value : undefined;
  }

  is(key: string): boolean {
    return this.#fields[key] === true;
  }

  list(key: string): Payload[] {
    const value = this.#fields[key];
    return Array.isArray(value) ? value.map((each) => new Payload(asObject(each))) : [];
  }

  texts(key: string): string[] {
    const value = this.#fields[key];
    return Array.isArray(value) ? value.map(String) : [];
  }

  object(key: string): Payload {
    return new Payload(asObject(this.#fields[key]));
  }

  get(key: string): unknown {
    return this.#fields[key];
  }

  json(): string {
    return JSON.stringify(this.#fields);
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
