import { type AppConfig, withConfig } from '../config/app-config.ts';
import type { AppState } from './context-data.ts';

// A context holds the state and the state makes tools for contexts: one file declares both, this one makes the state.
export type { AppState, FunctionsRequest, Ports, TeamRequest } from './context-data.ts';

export interface Services extends Omit<AppState, 'config' | 'withConfig' | 'reload'> {
  readConfig(): AppConfig;
}

export function createAppState(services: Services, config: AppConfig): AppState {
  return Object.freeze({
    ...services,
    config,
    withConfig: (patch: Partial<AppConfig>) => createAppState(services, withConfig(config, patch)),
    reload: () => createAppState(services, services.readConfig()),
  });
}
