import { jobs } from '../../store/home.ts';
import { Card } from '../../widgets/card.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Page } from '../../widgets/page.tsx';

export function Now() {
  return (
    <Page title="Now">
      {jobs.value.length === 0 && <Empty title="Nothing is at work" command={'reef run "what should be done"'} />}
      {jobs.value.map(({ id, task }) => (
        <Card key={id} title={task} href={`/jobs/${id}`} />
      ))}
    </Page>
  );
}
