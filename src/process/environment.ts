/** A child gets these variables, and those that its adapter, server or worker names. */
const ALWAYS = new Set(['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR']);

/** How this machine reaches the network. Behind a company's proxy nothing installs, and no agent answers, without them. */
const NETWORK = new Set([
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'all_proxy', 'no_proxy'],
  ...[
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'PIP_CERT',
    'GIT_SSL_CAINFO',
  ],
]);

/** Where our own tools are found. Never the caller's PATH, which may name a folder that an agent can write. */
export const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/** `named` are further variables of `from`; `extra` are values of our own, and they win. */
export function allowedEnv(
  from: Readonly<NodeJS.ProcessEnv>,
  named: readonly string[],
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    const isAllowed = ALWAYS.has(name) || NETWORK.has(name) || name.startsWith('LC_') || named.includes(name);
    if (isAllowed && value !== undefined) passed[name] = value;
  }
  return { ...passed, ...extra };
}
