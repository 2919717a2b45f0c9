import { computed, signal } from '@preact/signals';

/** The address is the state: every screen can be shared, reloaded and gone back to. */
const address = signal(location.pathname + location.search);

export const path = computed(() => address.value.split('?', 1)[0] ?? '');
export const query = computed(() => new URLSearchParams(address.value.replace(/^[^?]*/, '')));

export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === address.peek()) return;
  if (how === 'push') history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  address.value = to;
  if (how === 'push') scrollTo(0, 0);
}

/** Links stay links: they can be opened in another tab, and only a plain click is ours. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    address.value = location.pathname + location.search;
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.origin !== location.origin || link.hasAttribute('download')) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
