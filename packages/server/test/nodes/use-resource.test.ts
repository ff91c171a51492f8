import { connect, map, merge, of, Subject, take, timer, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { serialize, useResource, type Freeable } from '../../src/nodes/core/use-resource.js'
import { marbles, type MarbleHelpers } from '../../../../test/operators/marbles.js'

/** Repeats each letter: the first once, the second twice. */
interface Counter extends Freeable {
  readonly repeat: (letter: string) => readonly string[]
}

const counters = () => {
  const account = { opened: 0, freed: 0 }
  const open = (): Counter => {
    account.opened += 1
    let count = 0
    return {
      repeat: (letter) => {
        count += 1
        return Array.from({ length: count }, () => letter)
      },
      free: () => (account.freed += 1),
    }
  }
  return { account, open }
}

/** Settles in virtual time. */
const after = <T>(
  delayMs: number,
  scheduler: MarbleHelpers['scheduler'],
  act: () => T,
  settles: 'resolve' | 'reject' = 'resolve',
): PromiseLike<T> => ({
  then: (resolve, reject) => {
    timer(delayMs, scheduler).subscribe(() => {
      if (settles === 'resolve') void resolve?.(act())
      else void reject?.(act())
    })
    return undefined as never
  },
})

const repeating = (open: () => Counter | PromiseLike<Counter>) =>
  useResource(
    open,
    (counter, letter: string) => counter.repeat(letter),
    (counter) => counter.repeat('z'),
  )

describe('useResource', () => {
  it('uses a resource that is open at once, finishes with it and frees it when the source completes', () => {
    const { account, open } = counters()
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('  -a--b----|         ')
      const subs = '         ^--------!         '
      const expected = '     -a--(bb)-(zzz|)    '
      expectObservable(source$.pipe(repeating(open))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
    expect(account).toEqual({ opened: 1, freed: 1 })
  })

  it('keeps the inputs until the resource is open, and the completion after them', () => {
    const { account, open } = counters()
    marbles(({ hot, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = hot('  -a-b|              ')
      const subs = '         ^---!              '
      const expected = '     ------(abbzzz|)    '
      expectObservable(source$.pipe(repeating(() => after(6, scheduler, open)))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
    expect(account).toEqual({ opened: 1, freed: 1 })
  })

  it('completes without `finish`, and with an empty source', () => {
    const { account, open } = counters()
    marbles(({ cold, expectObservable }) => {
      const use = useResource(open, (counter: Counter, letter: string) => counter.repeat(letter))
      expectObservable(cold('  -a-|').pipe(use)).toBe('-a-|')
      expectObservable(cold('  -|').pipe(use)).toBe('  -|')
    })
    expect(account).toEqual({ opened: 2, freed: 2 })
  })

  it('passes an error of the source on at once, and frees a resource that opens later', () => {
    const { account, open } = counters()
    marbles(({ hot, expectObservable, scheduler }) => {
      expectObservable(hot('-a-#').pipe(repeating(open))).toBe('                              -a-#')
      expectObservable(hot('-a-#').pipe(repeating(() => after(6, scheduler, open)))).toBe('    ---#')
    })
    expect(account).toEqual({ opened: 2, freed: 2 })
  })

  it('errors and leaves the source when the resource cannot be opened', () => {
    marbles(({ hot, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = hot('  -a-b-|')
      const subs = '         ^--!  '
      const expected = '     ---#  '
      const failing = after<never>(3, scheduler, () => 'error' as never, 'reject')
      expectObservable(source$.pipe(repeating(() => failing))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
  })

  it('does not subscribe to the source when `open` throws', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-|')
      const open = (): Counter => {
        throw 'error' // eslint-disable-line @typescript-eslint/only-throw-error
      }
      expectObservable(source$.pipe(repeating(open))).toBe('#')
      expectSubscriptions(source$.subscriptions).toBe([])
    })
  })

  it.each(['use', 'finish'] as const)('errors and frees the resource when `%s` throws', (which) => {
    const { account, open } = counters()
    const failing = (counter: Counter, letter: string, is: boolean): readonly string[] => {
      if (is) throw 'error' // eslint-disable-line @typescript-eslint/only-throw-error
      return counter.repeat(letter)
    }
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('-a-b---|')
      const operator = useResource(
        open,
        (counter: Counter, letter: string) => failing(counter, letter, which === 'use' && letter === 'b'),
        (counter) => failing(counter, 'z', which === 'finish'),
      )
      expectObservable(source$.pipe(operator)).toBe(which === 'use' ? '-a-#' : '-a-(bb)#')
      expectSubscriptions(source$.subscriptions).toBe(which === 'use' ? '^--!' : '^------!')
    })
    expect(account).toEqual({ opened: 1, freed: 1 })
  })

  it('frees the resource when it is unsubscribed, also if the resource opens after that', () => {
    const { account, open } = counters()
    marbles(({ hot, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = hot('   -a-b---c-|')
      const unsub = '         ------!   '
      const subs = '          ^-----!   '
      expectObservable(source$.pipe(repeating(open)), unsub).toBe('                              -a-(bb)')
      expectObservable(source$.pipe(repeating(() => after(8, scheduler, open))), unsub).toBe('   ------')
      expectSubscriptions(source$.subscriptions).toBe([subs, subs])
    })
    expect(account).toEqual({ opened: 2, freed: 2 })
  })

  it('emits no further outputs of an input after the consumer has left', () => {
    const { account, open } = counters()
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('  -a-b-|   ')
      const subs = '         ^--!     '
      const expected = '     -a-(b|)  '
      expectObservable(source$.pipe(repeating(open), take(2))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subs)
    })
    expect(account).toEqual({ opened: 1, freed: 1 })
  })

  it('uses the resource for no input that waited, after the consumer has left', () => {
    const used: string[] = []
    marbles(({ hot, expectObservable, scheduler }) => {
      const { open } = counters()
      const use = (_counter: Counter, letter: string): readonly string[] => {
        used.push(letter)
        return [letter]
      }
      const operator = useResource(() => after(4, scheduler, open), use)
      expectObservable(hot('-a-b-|').pipe(operator, take(1))).toBe('----(a|)')
    })
    expect(used).toEqual(['a'])
  })

  it('opens a resource of its own for each subscription', () => {
    const { account, open } = counters()
    marbles(({ cold, expectObservable }) => {
      const result$ = cold('           -a-b---|').pipe(repeating(open))
      expectObservable(result$).toBe('        -a-(bb)(zzz|)')
      expectObservable(result$, '--^').toBe(' ---a-(bb)(zzz|)')
    })
    expect(account).toEqual({ opened: 2, freed: 2 })
  })

  it('takes an input that arrives while outputs are emitted after all of them', () => {
    const { open } = counters()
    const source$ = new Subject<string>()
    const seen: string[] = []
    source$.pipe(repeating(open)).subscribe({
      next: (letter) => {
        seen.push(letter)
        if (letter === 'a') source$.next('b')
        if (letter === 'b' && seen.length === 2) source$.complete()
      },
      complete: () => seen.push('complete'),
    })
    source$.next('a')
    expect(seen).toEqual(['a', 'b', 'b', 'z', 'z', 'z', 'complete'])
  })

  it('takes an input that arrives during the inputs that waited for the resource after them', () => {
    const { open } = counters()
    const source$ = new Subject<string>()
    let ready: (counter: Counter) => void = () => undefined
    const opening: PromiseLike<Counter> = {
      then: (resolve) => {
        ready = (counter) => void resolve?.(counter)
        return undefined as never
      },
    }
    const seen: string[] = []
    source$.pipe(repeating(() => opening)).subscribe((letter) => {
      seen.push(letter)
      if (letter === 'a') source$.next('c')
    })
    source$.next('a')
    source$.next('b')
    ready(open())
    expect(seen).toEqual(['a', 'b', 'b', 'c', 'c', 'c'])
  })
})

describe('serialize', () => {
  it('mirrors its source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a-b-|')
      const expected = '      -a-b-|'
      const unsub = '         --!   '
      expectObservable(source$.pipe(serialize())).toBe(expected)
      expectObservable(source$.pipe(serialize()), unsub).toBe('-a')
      expectObservable(cold(' -#').pipe(serialize())).toBe('   -#')
      expectSubscriptions(source$.subscriptions).toBe(['^----!', '^-!'])
    })
  })

  it('lets every subscriber behind a connect see a value before the answer to it', () => {
    const seenWith = (order: (source$: Observable<string>) => Observable<string>): readonly string[] => {
      const source$ = new Subject<string>()
      const seen: string[] = []
      const answered$ = order(source$).pipe(
        connect((shared$) =>
          merge(shared$.pipe(map((value) => `first ${value}`)), shared$.pipe(map((value) => `second ${value}`))),
        ),
      )
      answered$.subscribe((value) => {
        seen.push(value)
        if (value === 'first a') source$.next('b')
      })
      source$.next('a')
      return seen
    }
    expect(seenWith((source$) => source$)).toEqual(['first a', 'first b', 'second b', 'second a'])
    expect(seenWith((source$) => source$.pipe(serialize()))).toEqual(['first a', 'second a', 'first b', 'second b'])
  })

  it('emits nothing more of a source that emits while it is subscribed, after the consumer has left', () => {
    const seen: number[] = []
    of(1, 2, 3)
      .pipe(serialize(), take(2))
      .subscribe((value) => seen.push(value))
    expect(seen).toEqual([1, 2])
  })
})
