import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { info, phase } from '../connection/connection.ts';
import type { ScreenProps } from '../screen.ts';
import { place } from '../screens.tsx';
import { openQuestions } from '../store/home.ts';
import { Empty } from '../widgets/empty.tsx';
import { Guard } from '../widgets/guard.tsx';
import { Header } from './header.tsx';
import { Help } from './help.tsx';
import { openDialog } from './keys.ts';
import { LiveRegion } from './live-region.tsx';
import { Palette } from './palette.tsx';
import { Rail } from './rail.tsx';
import { SignedOut } from './signed-out.tsx';

export function App() {
  useSignalEffect(() => {
    const name = place.value.screen?.title ?? 'Not found';
    const asked = openQuestions.value > 0 ? `(${openQuestions.value}) ` : '';
    const repository = info.value ? ` · ${info.value.repository}` : '';
    document.title = `${asked}${name}${repository} · Reef`;
  });
  if (phase.value === 'signed-out') return <SignedOut />;
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Rail />
      <div class="stage">
        <Header />
        <main id="main" tabIndex={-1}>
          <CurrentScreen />
        </main>
      </div>
      <LiveRegion />
      {openDialog.value === 'palette' && <Palette />}
      {openDialog.value === 'help' && <Help />}
    </div>
  );
}

function CurrentScreen() {
  const { screen, id } = place.value;
  const loaded = useSignal<{ name: string; Component: ComponentType<ScreenProps> } | undefined>(undefined);
  useEffect(() => {
    if (!screen) return;
    let isWanted = true;
    void Promise.resolve(screen.load()).then((Component) => {
      if (isWanted) loaded.value = { name: screen.name, Component };
    });
    return () => {
      isWanted = false;
    };
  }, [screen, loaded]);
  if (!screen) {
    return (
      <Empty title="There is nothing at this address" command="reef ps">
        The rail leads to every screen there is.
      </Empty>
    );
  }
  if (loaded.value?.name !== screen.name) return null;
  const { Component } = loaded.value;
  return (
    <Guard key={`${screen.name} ${id}`} otherwise={(error) => <Failed error={error} />}>
      {id === undefined ? <Component /> : <Component id={id} />}
    </Guard>
  );
}

function Failed({ error }: { error: Error }) {
  return (
    <Empty title="This screen could not be drawn" command="reef doctor">
      {error.message}. That is a fault of Reef; the other screens still work.
    </Empty>
  );
}
