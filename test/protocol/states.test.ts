import { describe, expect, it } from 'vitest'
import { sessionStates } from '../../src/protocol/states.js'

describe('named states (PROTOCOL 6)', () => {
  it('has every state of a client session', () => {
    const life = ['idle', 'authorizing', 'connecting', 'starting', 'streaming', 'reconnecting', 'finalizing', 'done']
    expect(sessionStates).toEqual([...life, 'stopped', 'failed'])
  })
})
