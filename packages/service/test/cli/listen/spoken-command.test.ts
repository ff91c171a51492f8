import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { callsFor, spokenCommands, type SpokenSentence } from '../../../src/cli/listen/spoken-command.js'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'

const folder = temporaryFolder()
const lamp = join(folder, 'lamp')
const host = { env: { PATH: folder } }

beforeAll(() => {
  writeFileSync(lamp, '#!/bin/sh\n')
  chmodSync(lamp, 0o755)
})

/** The arguments of each call, or why there is none. */
const said = (spoken: string | SpokenSentence, ...on: readonly string[]): readonly unknown[] =>
  callsFor(spokenCommands(on, host), typeof spoken === 'string' ? { text: spoken } : spoken).map(
    ({ args, refusal }) => refusal ?? args,
  )

describe('--on with words', () => {
  it.each([
    ['Turn on the lights.', 'turn ON, the lights', ['on']],
    ['Turn on the lights', 'turn on the light', undefined],
    ['Please turn on the lights', 'turn on the lights', undefined],
    ["It's 9 o'clock!", 'its 9 oclock', ['on']],
    ['Größer', 'GRÖSSER', ['on']],
    ['電気をつけて。', '電気をつけて', ['on']],
  ])('%j is %j: %j', (text, sentence, args) => {
    expect(said(text, sentence, 'lamp on')).toEqual(args === undefined ? [] : [args])
  })

  it('matches each sentence of a milestone, in their order', () => {
    const text = 'Good morning. Lights on. And what else? Lights off!'
    expect(said(text, 'lights on', 'lamp 1', 'lights off', 'lamp 0')).toEqual([['1'], ['0']])
  })

  it('runs the first command that matches', () => {
    expect(said('lights on', 'lights {state}', 'lamp a', 'lights on', 'lamp b')).toEqual([['a']])
  })
})

describe('--on with {name}', () => {
  const room = (text: string): readonly unknown[] => said(text, 'turn on {what} in {where}', 'lamp {what} {where}')

  it('takes one or more words, as few as possible, as they were read', () => {
    expect(room('Turn on the big light in the Living-Room, upstairs.')).toEqual([
      ['the big light', 'the Living-Room, upstairs'],
    ])
    expect(room('Turn on the light in the box in the hall')).toEqual([['the light', 'the box in the hall']])
    expect(room('Turn on in the hall')).toEqual([])
  })

  it('does not cross the end of a sentence', () => {
    expect(said('Call Anna. We are late.', 'call {who}', 'lamp {who}')).toEqual([['Anna']])
    expect(said('Go. Call Anna and tell her. Bye.', 'call {who}', 'lamp {who}')).toEqual([['Anna and tell her']])
  })

  it('crosses the period of a title or an initial', () => {
    const call = (text: string) => said(text, 'call {who}', 'lamp {who}')
    expect(call('Please wait. Call Dr. Smith. Thanks.')).toEqual([['Dr. Smith']])
    expect(call('Call J. R. Miller.')).toEqual([['J. R. Miller']])
    expect(call('So do I. Call Mrs. Wu.')).toEqual([['Mrs. Wu']])
  })

  it('takes letters of a script without spaces, prices and percentages', () => {
    expect(said('寝室の電気をつけて', '{where}の電気をつけて', 'lamp {where}')).toEqual([['寝室']])
    expect(said('Set it to $5.', 'set it to {n}', 'lamp {n}')).toEqual([['$5']])
    expect(said('Dim to 50%.', 'dim to {n}', 'lamp {n}')).toEqual([['50%']])
  })

  it('reads a long text without trying positions again', () => {
    const words = Array.from({ length: 400 }, () => 'a').join(' ')
    const startMs = performance.now()
    expect(said(words, '{a} a {b} a {c} a {d} a {e} b', 'lamp')).toEqual([])
    expect(performance.now() - startMs).toBeLessThan(1000)
  })
})

describe('--on with the slots of a grammar', () => {
  const booking: SpokenSentence = { text: 'book a table for a dozen', slots: { intent: 'book', guests: '12' } }

  it('matches {name=value}, with any words or with those beside it', () => {
    expect(said(booking, '{intent=book}', 'lamp --guests={guests}')).toEqual([['--guests=12']])
    expect(said(booking, '{intent=cancel}', 'lamp')).toEqual([])
    expect(said(booking, '{intent=book} book {rest}', 'lamp {rest}')).toEqual([['a table for a dozen']])
  })

  it('prefers the slot to the words', () => {
    expect(said(booking, 'book a table for {guests}', 'lamp {guests}')).toEqual([['12']])
  })

  it('prefers a command whose arguments all have a value, and reports one without', () => {
    const without: SpokenSentence = { text: 'book a table', slots: { intent: 'book' } }
    const on = ['{intent=book}', 'lamp {guests}', '{intent=book}', 'lamp anyone']
    expect(said(booking, ...on)).toEqual([['12']])
    expect(said(without, ...on)).toEqual([['anyone']])
    expect(said(without, '{intent=book}', 'lamp {guests}')).toEqual(['{guests} has no value'])
  })
})

describe('the program of --on', () => {
  it('has what was said as a part of one argument, whatever it is', () => {
    const text = `write "a b"; rm -rf $HOME \`x\` {y}`
    expect(said(text, 'write {text}', `lamp --text={text} 'a {text}' end`)).toEqual([
      ['--text=a b"; rm -rf $HOME `x` {y', `a a b"; rm -rf $HOME \`x\` {y`, 'end'],
    ])
  })

  it('gets no option from what was said, unless the arguments end the options', () => {
    const spoken = { text: 'take it', slots: { n: '-5' } }
    expect(said(spoken, 'take it', 'lamp {n}')).toEqual(['the argument "-5" would be an option; write -- before it'])
    expect(said(spoken, 'take it', 'lamp -- {n}')).toEqual([['--', '-5']])
    expect(said(spoken, 'take it', 'lamp --by={n}')).toEqual([['--by=-5']])
    expect(said(spoken, 'take it', 'lamp -n {n} --')).toHaveLength(1)
  })

  it('is split once, with quotes and backslashes as in a shell, and nothing else of a shell', () => {
    const on = String.raw`lamp 'a "b"' "c 'd' \" \\ \n" e\ f '' $HOME *`
    expect(said('x', 'x', on)).toEqual([['a "b"', String.raw`c 'd' " \ \n`, 'e f', '', '$HOME', '*']])
  })

  it.each([
    [
      'one value',
      ['x'],
      "--on takes a sentence and a program, such as --on 'lights {state}' 'lamp {state}'; quote both.",
    ],
    ['no word', ['…', 'lamp'], '--on: the sentence has no word.'],
    ['a slot twice', ['{a} {a}', 'lamp'], '--on: {a} is twice in "{a} {a}"; give each slot a name of its own.'],
    ['no slot', ['a {1}', 'lamp'], '--on: "{1}" is no slot; write {name} or {name=value}.'],
    ['an open quote', ['a', "lamp 'x"], `--on: a ' is not closed in "lamp 'x".`],
    ['no program', ['a', ' '], '--on must name a program.'],
    ['a slot as the program', ['{a}', '{a} x'], '--on: the program "{a}" must not be what is said; name a program.'],
    ['a missing program', ['a', 'lmap x'], '--on: there is no program "lmap"; install it, or correct its name.'],
  ])('is refused: %s', (_title, on, message) => {
    expect(() => spokenCommands(on, host)).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })
})
