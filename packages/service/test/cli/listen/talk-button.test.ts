import { asyncScheduler } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { talkButton } from '../../../src/cli/listen/talk-button.js'

const scheduler = (): TestScheduler => new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
const values = { a: false, b: true }

describe('talkButton', () => {
  it.each([
    ['one press begins, and the next one ends 150 ms later', '10ms x 1999ms x', 'a 9ms b 2149ms a'],
    ['a held key ends 300 ms after its last repetition', '-x 499ms x 32ms x 32ms x', 'a b 865ms a'],
    ['a press after the end begins again', '-x 299ms x 299ms x', 'a b 449ms a 149ms b'],
    ['a key is held also if its first repetition comes soon', '-x 99ms x 99ms x', 'a b 499ms a'],
    ['nothing is pressed', '-', 'a'],
  ])('%s', (_title, presses, expected) => {
    scheduler().run(({ hot, expectObservable, expectSubscriptions }) => {
      const press$ = hot(presses)
      expectObservable(talkButton(press$, asyncScheduler), '5s !').toBe(expected, values)
      expectSubscriptions(press$.subscriptions).toBe('^ 4999ms !')
    })
  })

  it.each([
    ['completes', '-x 9ms |', 'a b 9ms |'],
    ['fails', '-x 9ms #', 'a b 9ms #'],
  ])('%s with the presses, also while it waits', (_title, presses, expected) => {
    scheduler().run(({ hot, expectObservable, expectSubscriptions }) => {
      const press$ = hot(presses)
      expectObservable(talkButton(press$, asyncScheduler)).toBe(expected, values)
      expectSubscriptions(press$.subscriptions).toBe('^ 10ms !')
    })
  })

  it('is released and emits nothing after an unsubscription', () => {
    scheduler().run(({ hot, expectObservable, expectSubscriptions }) => {
      const press$ = hot('-x 9ms x')
      expectObservable(talkButton(press$, asyncScheduler), '50ms !').toBe('a b', values)
      expectSubscriptions(press$.subscriptions).toBe('^ 49ms !')
    })
  })
})
