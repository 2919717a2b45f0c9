import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { connection, info } from '../connection/connection.ts';
import { plain } from '../format.ts';
import { refresher } from '../store/refresher.ts';
import { Section } from '../widgets/page.tsx';
import { Ago } from '../widgets/time.tsx';

interface Host {
  id: string;
  state: string;
  used: number;
  slots: number;
  labels: string[];
  version: string | null;
  beat: string | null;
}

const LOOK_MS = 1_000;

/** The machines of a fleet. A home is one machine and shows nothing here. */
export function Hosts() {
  return info.value?.cursor === undefined ? null : <HostTable />;
}

function HostTable() {
  const hosts = useSignal<readonly Host[]>([]);
  useEffect(() => {
    const look = refresher(async () => {
      const response = await connection.request('/v1/fleet', {});
      if (response.ok) hosts.value = ((await response.json()) as { hosts: Host[] }).hosts;
    }, LOOK_MS);
    look.now();
    const stops = [connection.onLive(look.now), connection.onChange(look.soon), connection.onEvent(look.soon)];
    return () => {
      for (const stop of stops) stop();
    };
  }, []);
  return (
    <Section title="Hosts" amount={hosts.value.length}>
      <table class="hosts">
        <thead>
          <tr>
            {['Host', 'State', 'Slots', 'Version', 'Last beat', 'Labels'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hosts.value.map(({ id, state, used, slots, version, beat, labels }) => (
            <tr key={id}>
              <th scope="row">{plain(id)}</th>
              <td>{state}</td>
              <td>
                {used} of {slots}
              </td>
              <td>{version ?? '–'}</td>
              <td>{beat === null ? 'never' : <Ago at={beat} />}</td>
              <td>{labels.map(plain).join(' ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
