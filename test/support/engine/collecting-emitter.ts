import type { Emitter, EngineEvent } from '../../../src/runtime/engine/emitter.ts';

/** Keeps all events. */
export class CollectingEmitter implements Emitter {
  readonly events: EngineEvent[] = [];

  emit(event: EngineEvent): void {
    this.events.push(event);
  }
}
