import { type AppConfig, withConfig } from '../config/app-config.ts';
import type { AppState } from './context-data.ts';

export type { AppState, FunctionsRequest, Ports, TeamRequest } from './context-data.ts';

interface Services extends Omit<AppState, 'config' | 'withConfig' | 'reload'> {
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
