import type { StateNews } from '../../protocol/repostate.ts';

export type Detection = Extract<StateNews, { kind: 'repostate.detected' }>;

/** Every firing is news with its evidence. */
export type Tell = (news: Detection) => void;

export function detected(detector: Detection['detector'], rest: Omit<Detection, 'kind' | 'detector'>): Detection {
  return { kind: 'repostate.detected', detector, ...rest };
}
