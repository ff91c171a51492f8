import { describe, expect, it } from 'vitest'
import { serviceStates, sessionStates } from '../../src/protocol/states.js'

describe('named states (PROTOCOL 6)', () => {
  it('has every state of a client session', () => {
    const life = ['idle', 'authorizing', 'connecting', 'starting', 'streaming', 'reconnecting', 'finalizing', 'done']
    expect(sessionStates).toEqual([...life, 'stopped', 'failed'])
  })

  it('has every state of a session of the service', () => {
    expect(serviceStates).toEqual(['opened', 'started', 'running', 'flushing', 'ended', 'stopped', 'refused'])
  })
})
