import { describe, expect, it } from 'vitest'
import { refusalText } from '../../../../src/errors/refusal.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { clientError } from '../../src/sessions/client-error.js'

const missing = new SpeechError('missing-dependency', 'This engine needs a package: npm install sherpa-onnx-node.')
const wrapped = [
  ['as it is', missing],
  ['within a node', new SpeechError('node-failed', 'The node failed.', { cause: missing })],
  [
    'within an engine within a node',
    new SpeechError('node-failed', 'x', { cause: new Error('y', { cause: missing }) }),
  ],
] as const

describe('the error that a client receives', () => {
  it.each(wrapped)('reports a missing package as not retryable, without its name: %s', (_how, error) => {
    const faults: unknown[] = []
    const publicError = clientError(error, { onFault: (fault) => faults.push(fault) })
    expect(publicError).toMatchObject({ code: 'missing-dependency', retryable: false })
    expect(refusalText(publicError)).not.toMatch(/sherpa|npm|engine/)
    expect(faults).toEqual([error])
  })

  it.each(wrapped)('names the package if the developer of the client runs the service: %s', (_how, error) => {
    expect(clientError(error, { namesPackages: true })).toBe(missing)
  })

  it('is internal for a cyclic chain of causes', () => {
    const error = new Error('round')
    error.cause = error
    expect(clientError(error)).toMatchObject({ code: 'internal' })
  })
})
