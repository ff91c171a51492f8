import { Worker, type WorkerOptions } from 'node:worker_threads'

export interface ThreadEvents<Message> {
  readonly message: (message: Message) => void
  /** The thread ended, terminated or not. The last event, emitted once. */
  readonly ended: (cause: unknown) => void
}

/** Starts a worker thread without the options of this process, such as a loader or an inspector. */
export const startThread = <Message>(
  file: string,
  options: WorkerOptions,
  { message, ended }: ThreadEvents<Message>,
): Worker => {
  const worker = new Worker(file, { ...options, execArgv: [] })
  let cause: unknown
  worker.on('message', message)
  worker.on('error', (error) => (cause = error))
  worker.on('exit', () => ended(cause))
  return worker
}
