import { Component, type ComponentChildren } from 'preact';

interface GuardProps {
  /** What stands there instead when it cannot be drawn. */
  otherwise: (error: Error) => ComponentChildren;
  children: ComponentChildren;
}

/** What was cut to its cap, or written by a newer Reef, may lack what is drawn of it: the rest of the page stays. */
export class Guard extends Component<GuardProps, { error?: Error }> {
  override componentDidCatch(error: Error): void {
    this.setState({ error });
  }

  override render({ otherwise, children }: GuardProps, { error }: { error?: Error }): ComponentChildren {
    return error ? otherwise(error) : children;
  }
}
