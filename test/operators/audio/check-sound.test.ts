import { config, firstValueFrom, from, of, Subject, take, tap, toArray, type MonoTypeOperatorFunction } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { checkSound } from '../../../src/operators/audio/check-sound.js'
import type { AudioFormat } from '../../../src/audio/format.js'
import type { SoundWarning } from '../../../src/audio/sound-check/sound-warning.js'
import { ascii } from '../../audio/sound-check/sounds.js'
import { codeThrownBy, marbles } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'

const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

/** `o` begins an Ogg file; `f` begins a WAV file amid audio; `a` and `b` are audio, `b` with a cut sample. */
const wav = ascii('RIFF\0\0\0\0WAVE')
const values = { o: ascii('OggS\0\x02\0\0'), f: wav, a: new Uint8Array(1600), b: new Uint8Array(3) }

const watched = (warnings: string[]): MonoTypeOperatorFunction<Uint8Array> =>
  checkSound({ format, onWarning: ({ kind, found = '' }) => warnings.push(`${kind} ${found}`) })

describe('checkSound', () => {
  // Slices are unchanged, also a cut one and those after a warning.
  itIsAnOperator({
    operator: () => watched([]),
    values,
    outputs: values,
    source: '  -o-a-b-|',
    expected: '-o-a-b-|',
    failed: '  -o-#',
  })

  it('emits each slice unchanged, also a cut one and those after a warning', () => {
    const warnings: string[] = []
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -o-a-b-|', values)
      const subscription = '  ^------!'
      const expected = '      -o-a-b-|'
      expectObservable(source$.pipe(watched(warnings))).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
    expect(warnings).toEqual(['file-header Ogg'])
  })

  it('unsubscribes from the source early, and starts again with a new subscription', () => {
    const warnings: string[] = []
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -o-a-|         ', values)
      const early = '         ^-!            '
      const again = '         -------^       '
      const subscriptions = ['^-!            ', '-------^----!']
      const expected = ['     -o             ', '--------o-a-|'] as const
      const result$ = source$.pipe(watched(warnings))
      expectObservable(result$, early).toBe(expected[0], values)
      expectObservable(result$, again).toBe(expected[1], values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
    expect(warnings).toEqual(['file-header Ogg', 'file-header Ogg'])
  })

  it('reports after the slice was emitted, and not to a subscriber that has left with it', () => {
    const order: string[] = []
    const report = checkSound({ format, onWarning: () => order.push('warning') })
    of(values.o, values.a)
      .pipe(
        report,
        tap(() => order.push('slice')),
      )
      .subscribe()
    expect(order).toEqual(['slice', 'warning', 'slice'])
    of(values.o, values.a)
      .pipe(report, take(1))
      .subscribe(() => order.push('left'))
    expect(order).toEqual(['slice', 'warning', 'slice', 'left'])
  })

  it('keeps the order when a subscriber, and when onWarning, feeds the source', () => {
    const source$ = new Subject<Uint8Array>()
    const seen: (Uint8Array | string)[] = []
    const onWarning = ({ found = '' }: SoundWarning): void => {
      seen.push(found)
      source$.next(values.b)
    }
    source$.pipe(checkSound({ format, onWarning })).subscribe((slice) => {
      seen.push(slice)
      if (slice === values.o) source$.next(values.a)
    })
    source$.next(values.o)
    expect(seen).toEqual([values.o, values.a, 'Ogg', values.b])
  })

  it('holds nothing back for a slow consumer: each slice is emitted within the call that brings it', () => {
    const source$ = new Subject<Uint8Array>()
    let emitted = 0
    source$.pipe(watched([])).subscribe(() => (emitted += 1))
    for (let pushed = 1; pushed <= 100; pushed++) {
      source$.next(values.b)
      expect(emitted).toBe(pushed)
    }
  })

  it('reports an exception of onWarning, and passes the audio on', async () => {
    const failure = new Error('a fault of the page')
    const reported = new Promise((resolve) => {
      config.onUnhandledError = resolve
    })
    const onWarning = (): void => {
      throw failure
    }
    const passed = await firstValueFrom(from([values.o, values.a]).pipe(checkSound({ format, onWarning }), toArray()))
    expect(passed).toEqual([values.o, values.a])
    expect(await reported).toBe(failure)
    config.onUnhandledError = null
  })

  it('reports each kind once', () => {
    const warnings: string[] = []
    from([values.f, values.a, values.f]).pipe(watched(warnings)).subscribe()
    expect(warnings).toEqual(['file-header WAV'])
  })

  it('rejects wrong options immediately', () => {
    const onWarning = (): void => undefined
    expect(codeThrownBy(() => checkSound({ format: { ...format, sampleRateHz: 1 }, onWarning }))).toBe('invalid-format')
    expect(codeThrownBy(() => checkSound({ format } as never))).toBe('invalid-options')
    expect(codeThrownBy(() => checkSound({ format, onWarning, once: true } as never))).toBe('invalid-options')
  })
})
