import { expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Effect, Machine, MachineResult } from '../../../../src/kernel/machine.js'

interface ShownAction {
  readonly type: string
  readonly timeout?: string | undefined
  readonly delayMs?: number | undefined
  readonly error?: SpeechError | undefined
}

/** A step in one line: the next state, what is sent and reported, and what starts. */
export const stepText = (
  next: string,
  outputs: readonly string[],
  effects: readonly Effect<ShownAction>[] = [],
): string => {
  const begun = effects
    .filter(({ action }) => action.type !== 'next-message')
    .map(({ lifetime, action: { type, timeout, delayMs, error } }) =>
      [`${lifetime}: ${type}`, timeout, delayMs, error?.code].filter((part) => part !== undefined).join(' '),
    )
  return [next, outputs.join(', '), begun.join(', ')].join(' | ').replace(/( \| )+$/, '')
}

export const endText = (result: MachineResult): string =>
  result === 'complete' ? 'close' : `close ${(result.error as SpeechError).code}`

/**
 * What a step does, by input and state. A row may be that of several states; `=` is the state itself, and an omitted
 * state ignores the input.
 */
export type StepTable<Input extends string> = Readonly<Record<Input, Readonly<Record<string, string>>>>

/** Each input in each state, with the text of the step. */
export const cellsOf = <Input extends string, State extends string>(
  table: StepTable<Input>,
  states: Readonly<Record<State, unknown>>,
  unchanged: (state: State) => string,
): readonly (readonly [Input, State, string])[] => {
  const names = Object.keys(states) as State[]
  return (Object.keys(table) as Input[]).flatMap((input) => {
    const rows = Object.entries(table[input]).map(([named, text]) => ({ named: named.split(' '), text }))
    const all = rows.flatMap(({ named }) => named)
    expect([...new Set(all)].filter((name) => name in states)).toEqual(all)
    return names.map((state) => {
      const text = rows.find(({ named }) => named.includes(state))?.text ?? '='
      return [input, state, text.replace(/^=/, unchanged(state))] as const
    })
  })
}

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
