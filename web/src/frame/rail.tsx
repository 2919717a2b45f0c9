import { place, screens } from '../screens.tsx';
import { openQuestions } from '../store/home.ts';
import { Icon } from '../widgets/icon.tsx';
import { Mark } from './mark.tsx';

/** The way to every screen: at the side, and at the bottom of a phone. */
export function Rail() {
  return (
    <nav class="rail" aria-label="Screens">
      <a class="wordmark" href="/now" aria-label="Reef, to Now">
        <Mark />
        <span>Reef</span>
      </a>
      <ul>
        {screens.map(
          ({ name, path, title, rail }) =>
            rail && (
              <li key={name}>
                <a href={`/${path}`} aria-current={place.value.screen?.name === name ? 'page' : undefined}>
                  <Icon name={rail.icon} />
                  <span>{title}</span>
                  {name === 'now' && openQuestions.value > 0 && <Count />}
                  <span class="key" aria-hidden="true">
                    g {rail.letter}
                  </span>
                </a>
              </li>
            ),
        )}
      </ul>
    </nav>
  );
}

function Count() {
  return (
    <span class="count">
      {openQuestions.value}
      <span class="unseen"> open questions</span>
    </span>
  );
}
