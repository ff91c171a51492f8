import { codec, type Codec, wholeNumber } from 'rxspeech/internal/protocol/validation'
import { usableCpus } from './usable-cpus.js'

/** How many processes serve the sessions of a service; `auto` is one for each CPU that it may use. */
export type WorkerCount = number | 'auto'

const maxWorkers = 256
const processes = wholeNumber({ min: 1, max: maxWorkers })

export const workerCount: Codec<WorkerCount> = codec(
  `${processes.name}, or auto`,
  (value): value is WorkerCount => value === 'auto' || processes.is(value),
)

export const resolveWorkerCount = (workers: WorkerCount): number =>
  workers === 'auto' ? Math.min(Math.max(Math.floor(usableCpus()), 1), maxWorkers) : workers
