import { render } from 'preact';
import { connection } from './connection/connection.ts';
import { App } from './frame/app.tsx';
import { startRouter } from './router.ts';
import { startHome } from './store/home.ts';
import { startTicking } from './store/tick.ts';

startRouter();
startTicking();
startHome();
const root = document.getElementById('reef');
if (root) render(<App />, root);
void connection.start();
