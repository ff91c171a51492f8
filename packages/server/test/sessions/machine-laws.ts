import { expect, it } from 'vitest'
import type { Machine } from '../../../../src/kernel/machine.js'

/** The laws of both machines of conversations: with these states and inputs, and in the state after the end. */
export const itIsTotal = <State, Input, Output, Action>(
  machine: Machine<State, Input, Output, Action>,
  states: Readonly<Record<string, State>>,
  inputs: Readonly<Record<string, Input>>,
  ended: State,
): void => {
  it('ignores every input after its end', () => {
    for (const input of Object.values(inputs)) expect(machine.reduce(ended, input)).toEqual({ state: ended })
    expect(machine.alive(ended).size).toBe(0)
  })

  it('starts only effects whose lifetime is alive', () => {
    for (const state of Object.values(states)) {
      for (const input of Object.values(inputs)) {
        const step = machine.reduce(state, input)
        const alive = machine.alive(step.state)
        for (const { lifetime } of step.effects ?? []) expect(alive).toContain(lifetime)
      }
    }
  })
}
