/** Who we are to the daemon. The token stays in memory, unless the user wants to stay signed in when the tab reloads. */

export interface Session {
  token: string;
  tokenId: string;
}

const KEPT = 'reef.session';
const REMEMBERS = 'reef.remember';

/** The code of `reef open` comes in the fragment, and leaves the address before anything else happens. */
export function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

export async function logIn(code: string): Promise<Session | undefined> {
  const response = await fetch('/v1/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) return undefined;
  const { token, tokenId } = (await response.json()) as Session;
  return { token, tokenId };
}

const encoder = new TextEncoder();

/** Whether the server that answers now is the one that gave us the token, and knows it still. It is asked before the token is sent again. */
export async function askForProof({ token, tokenId }: Session): Promise<'ours' | 'over' | 'other'> {
  const nonce = crypto.randomUUID();
  const response = await fetch('/v1/proof', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tokenId, nonce }),
  });
  // Whoever it is that says so learns nothing: a new log-in is all that is left.
  if (response.status === 401) return 'over';
  if (!response.ok) return 'other';
  const { proof } = (await response.json()) as { proof?: unknown };
  return proof === (await expectedProof(token, nonce)) ? 'ours' : 'other';
}

async function expectedProof(token: string, nonce: string): Promise<string> {
  const secret = await crypto.subtle.digest('SHA-256', encoder.encode(token));
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signed = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(nonce)));
  return Array.from(signed, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function remembers(): boolean {
  return localStorage.getItem(REMEMBERS) === 'yes';
}

/** Another server on the same port could read what is kept here, so it is kept only for those who ask for it. */
export function setRemembers(wanted: boolean, session: Session | undefined): void {
  if (wanted) localStorage.setItem(REMEMBERS, 'yes');
  else localStorage.removeItem(REMEMBERS);
  keep(session);
}

export function keep(session: Session | undefined): void {
  if (session && remembers()) sessionStorage.setItem(KEPT, JSON.stringify(session));
  else sessionStorage.removeItem(KEPT);
}

export function kept(): Session | undefined {
  const text = sessionStorage.getItem(KEPT);
  return text === null ? undefined : (JSON.parse(text) as Session);
}
