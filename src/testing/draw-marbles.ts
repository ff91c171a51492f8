import { lastValueFrom, materialize, map, toArray, type Observable, type SchedulerLike } from 'rxjs'
import { checkOptions, functionValue, number, optionsOf, schedulerValue } from '../protocol/validation.js'

/** The scale of the diagram. */
export interface DrawMarblesOptions<Value> {
  /** Milliseconds of one character. */
  readonly frameMs: number
  /** The clock of the stream. */
  readonly scheduler: SchedulerLike
  /** Returns one character for a value. @default () => 'o' */
  readonly symbol?: ((value: Value) => string) | undefined
}

const drawMarblesOptions = optionsOf<DrawMarblesOptions<never>>()(
  { frameMs: number(), scheduler: schedulerValue },
  { symbol: functionValue },
)

/**
 * Draws a stream as a marble diagram when it has ended: `-` for time without a value, a character for each value,
 * several at the same time in brackets, `|` for completion and `#` for an error. As in RxJS, brackets use columns of
 * the time that follows them, as far as available.
 *
 * @example
 * const scheduler = new VirtualTimeScheduler()
 * const diagram = drawMarbles(timer(20, 10, scheduler).pipe(take(3)), { frameMs: 10, scheduler })
 * scheduler.flush()
 * console.log(await diagram) // --oo(o|)
 */
export const drawMarbles = async <Value>(
  stream$: Observable<Value>,
  options: DrawMarblesOptions<Value>,
): Promise<string> => {
  checkOptions(drawMarblesOptions, options)
  const { frameMs, scheduler, symbol = () => 'o' } = options
  const startMs = scheduler.now()
  const notes = await lastValueFrom(
    stream$.pipe(
      materialize(),
      map((note) => ({
        frame: Math.round((scheduler.now() - startMs) / frameMs),
        mark: note.kind === 'N' ? symbol(note.value) : note.kind === 'C' ? '|' : '#',
      })),
      toArray(),
    ),
  )
  const frames = new Map<number, string>()
  for (const { frame, mark } of notes) frames.set(frame, (frames.get(frame) ?? '') + mark)
  let line = ''
  for (const [frame, marks] of frames) {
    line = line.padEnd(frame, '-') + (marks.length > 1 ? `(${marks})` : marks)
  }
  return line
}
