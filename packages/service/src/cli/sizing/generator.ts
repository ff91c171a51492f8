import { findWorkerFile } from 'rxspeech-engines/threads/package-files'
import { killProcess, send, startProcess } from 'rxspeech-engines/threads/child-process'
import { CommandError } from '../process/failure.js'
import type { FromGenerator, GeneratorSettings, StepRequest, ToGenerator } from './generator-protocol.js'
import type { CallFault, GeneratorLoad, MeasuredSegment } from './step-verdict.js'

/** What the calls of a step led to. */
export interface CallResults {
  readonly segments: readonly MeasuredSegment[]
  readonly faults: readonly CallFault[]
  readonly load: GeneratorLoad
}

export interface StepEvents {
  readonly measuring: () => void
  /** Called about twice a second with all that was received so far; return true to end the step. */
  readonly received: (results: Omit<CallResults, 'load'>) => boolean
  /** All audio was sent. */
  readonly sent: () => void
}

/** The process that makes the calls. */
export interface Generator {
  /** One step after another. Rejects with the reason of the signal, or if the process ends. */
  readonly run: (step: StepRequest, events: StepEvents, signal: AbortSignal) => Promise<CallResults>
  readonly close: () => Promise<void>
}

export const startGenerator = (settings: GeneratorSettings): Generator => {
  let receive: (message: FromGenerator) => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  const file = findWorkerFile(__dirname, 'cli/sizing/generator-main.js', 'The process that makes calls')
  const child = startProcess<FromGenerator>(file, settings, {
    message: (message) => receive(message),
    ended: (cause) => {
      const how = cause instanceof Error ? cause.message : 'The process ended.'
      fail(new CommandError(`The process that makes the calls failed. ${how}`))
    },
  })
  const post = (message: ToGenerator): void => send(child, message)
  const run: Generator['run'] = (step, events, signal) =>
    new Promise((resolve, reject) => {
      const segments: MeasuredSegment[] = []
      const faults: CallFault[] = []
      let load: GeneratorLoad = { use: 0, loopDelayMs: 0, cpuMs: 0 }
      const stop = (): void => post({ stop: true })
      signal.addEventListener('abort', stop)
      fail = (error) => {
        signal.removeEventListener('abort', stop)
        reject(error)
      }
      receive = (message) => {
        switch (message.type) {
          case 'measuring':
            events.measuring()
            return
          case 'received':
            segments.push(...message.segments)
            faults.push(...message.faults)
            if (events.received({ segments, faults })) stop()
            return
          case 'sent':
            load = message.load
            events.sent()
            return
          case 'ended':
            signal.removeEventListener('abort', stop)
            if (signal.aborted) reject(signal.reason as Error)
            else resolve({ segments, faults, load })
        }
      }
      if (signal.aborted) {
        fail(signal.reason as Error)
        return
      }
      post({ step })
    })
  return {
    run,
    close: () => {
      fail = () => undefined
      return killProcess(child)
    },
  }
}
