import { ReefError } from '../../protocol/errors.ts';

/** Another machine with a Reef of its own, and the folder of the repository there. */
export interface Box {
  /** As the person wrote it: what a message shows, and what tells one box from another. */
  text: string;
  /** What ssh takes: a host, a name of the person's ssh configuration, or either with a user. */
  destination: string;
  port: string | undefined;
  folder: string;
}

// Neither may begin with a dash: ssh would take it for an option.
const ADDRESS =
  /^ssh:\/\/(?:(?<user>\w[\w.-]*)@)?(?<host>\w[\w.-]*|\[[\da-fA-F:.]+\])(?::(?<port>\d{1,5}))?(?<folder>\/.*)$/;

/** `ssh://[user@]host[:port]/folder/of/the/repository`; a folder that begins with `/~/` lies below the home directory there. */
export function parseBox(text: string): Box {
  const { user, host, port, folder = '' } = ADDRESS.exec(text)?.groups ?? {};
  if (host === undefined || /\p{Cc}/u.test(folder)) {
    throw new ReefError('bad_request', '--on takes ssh://[user@]machine[:port]/folder/of/the/repository');
  }
  const name = host.replaceAll(/[[\]]/g, '');
  return {
    text,
    destination: user === undefined ? name : `${user}@${name}`,
    port,
    folder: folder.startsWith('/~/') ? folder.slice(1) : folder,
  };
}
