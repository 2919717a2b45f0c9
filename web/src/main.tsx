import { effect } from '@preact/signals';
import { render } from 'preact';
import { connection } from './connection/connection.ts';
import { App } from './frame/app.tsx';
import { startKeys } from './frame/keys.ts';
import { clearReceipts } from './questions/asked.ts';
import { startRouter } from './router.ts';
import { startHome } from './store/home.ts';
import { now, startTicking } from './store/tick.ts';

startRouter();
startKeys();
startTicking();
startHome();
effect(() => clearReceipts(now.value));
const root = document.getElementById('reef');
if (root) render(<App />, root);
void connection.start();
