import type { ScreenProps } from '../../screen.ts';
import { jobs } from '../../store/home.ts';
import { Page } from '../../widgets/page.tsx';

export function Job({ id }: ScreenProps) {
  const job = jobs.value.find((one) => one.id === id);
  return <Page title={job?.task ?? id}>{job?.lastOutput}</Page>;
}
