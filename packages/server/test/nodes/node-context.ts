import { NEVER, VirtualTimeScheduler } from 'rxjs'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { NodeContext } from '../../src/nodes/core/node.js'

/** A default session: mono PCM at 8000 Hz on `audio`, virtual time, no engine. */
export const nodeContext = (change: Partial<NodeContext> = {}): NodeContext => ({
  node: 'node',
  session: { id: 'session-1', tenant: 'Acme', project: 'project', clientId: 'client' },
  inputs: { audio: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } },
  outputs: { audio: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } },
  language: '',
  audioOutput: undefined,
  settings: () => ({}),
  callProperties: () => ({}),
  updated$: NEVER,
  resource: () => undefined,
  engine: () => Promise.reject(new SpeechError('model-denied', 'There is no model here.')),
  ack: () => undefined,
  recordingsFolder: undefined,
  idleMs: 30_000,
  log: () => undefined,
  scheduler: new VirtualTimeScheduler(),
  ...change,
})
