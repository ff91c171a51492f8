import {
  type AllParametersOf,
  type ParameterRow,
  segmentationParameters,
} from 'rxspeech/internal/protocol/recognition-parameters'

/** How speech is cut into segments (PROTOCOL 7). Durations are whole milliseconds of audio. */
export interface SegmenterParameters extends AllParametersOf<typeof segmentationParameters> {
  /** Speech after silence that is shorter than this is ignored as a burst, 0 to 1000. Only an option of nodes. */
  readonly onsetMs: number
}

const defaultsOf = (defaultOf: (row: ParameterRow) => unknown): SegmenterParameters => {
  const rows = Object.entries(segmentationParameters).map(([name, row]) => [name, defaultOf(row)])
  return { ...(Object.fromEntries(rows) as AllParametersOf<typeof segmentationParameters>), onsetMs: 60 }
}

/** The defaults of `recognize`, and 60 ms to confirm an onset. */
export const defaultSegmenterParameters = defaultsOf((row) => row.default)

/** The defaults of projects and their nodes: silence ends nothing, because calls have long silences. */
export const projectSegmenterParameters = defaultsOf((row) => row.projectDefault ?? row.default)
