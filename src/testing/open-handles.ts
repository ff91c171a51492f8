import { createHook } from 'node:async_hooks'
import { checkOptions, durationMs, objectWith, optionsOf } from '../protocol/validation.js'

/**
 * Resources of the system and pending work: timers, also those that do not keep the process alive; sockets; threads.
 */
const handleTypes: ReadonlySet<string> = new Set([
  'Timeout',
  'TCPWRAP',
  'TCPSERVERWRAP',
  'PIPEWRAP',
  'PIPESERVERWRAP',
  'UDPWRAP',
  'WORKER',
  'PROCESSWRAP',
  'FSEVENTWRAP',
])

/** A resource that is still open. */
export interface OpenHandle {
  /** As `node:async_hooks` names it, such as `Timeout` and `TCPWRAP`. */
  readonly type: string
  /** The stack at its creation, one line per call, innermost first. */
  readonly openedAt: string
}

/** How long handles may stay open, and which do not count. */
export interface HandleOptions {
  /** The time in which everything has to close, in milliseconds. @default 1000 */
  readonly withinMs?: number | undefined
  /** Handles to ignore, by the innermost call outside Node. @default those of test runners */
  readonly ignore?: RegExp | undefined
}

const handleOptions = optionsOf<HandleOptions>()({}, { withinMs: durationMs(0), ignore: objectWith('test') })

const testRunners = /[\\/]node_modules[\\/](?:@?vitest|birpc|tinypool|jest[^\\/]*|mocha)[\\/]/
const pollMs = 10

/**
 * Runs work, such as a session to its end or to its unsubscription, and resolves with its result. Rejects if any handle
 * opened meanwhile is still open after `withinMs`; the error names each handle and where it was opened. Handles opened
 * before do not count. Needs no test runner. Node only.
 *
 * @example
 * const final = await expectNoHandles(() => lastValueFrom(audio$.pipe(recognize(options))))
 */
export const expectNoHandles = async <Result>(
  work: () => Promise<Result> | Result,
  options: HandleOptions = {},
): Promise<Result> => {
  const { withinMs = 1_000, ignore = testRunners } = checkOptions(handleOptions, options)
  // Node opens them on first access, and they belong to no test.
  for (const stream of [process.stdout, process.stderr]) stream.writable.valueOf()
  const watch = watchHandles(ignore)
  try {
    const result = await work()
    const untilMs = performance.now() + withinMs
    while (watch.open().length > 0 && performance.now() < untilMs) await watch.pause(pollMs)
    const left = watch.open()
    if (left.length > 0) throw new Error(sentenceOf(left, withinMs))
    return result
  } finally {
    watch.end()
  }
}

const watchHandles = (ignore: RegExp) => {
  const live = new Map<number, OpenHandle>()
  let isOwn = false
  const hook = createHook({
    init: (id, type) => {
      if (isOwn || !handleTypes.has(type)) return
      const openedAt = callers()
      const [innermost = ''] = openedAt.split('\n')
      if (!ignore.test(innermost)) live.set(id, { type, openedAt })
    },
    destroy: (id) => {
      live.delete(id)
    },
  }).enable()
  return {
    open: (): readonly OpenHandle[] => [...live.values()],
    pause: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        isOwn = true
        setTimeout(resolve, ms)
        isOwn = false
      }),
    end: () => {
      hook.disable()
    },
  }
}

/** The calls outside Node itself. */
const callers = (): string => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 30
  const { stack = '' } = new Error('opened')
  Error.stackTraceLimit = stackTraceLimit
  const lines = stack.split('\n').slice(1)
  return lines.filter((line) => !/\(?node:|testing[\\/]open-handles\.[cm]?[jt]s/.test(line)).join('\n')
}

const sentenceOf = (left: readonly OpenHandle[], withinMs: number): string => {
  const counts = new Map<string, number>()
  for (const { type } of left) counts.set(type, (counts.get(type) ?? 0) + 1)
  const types = [...counts].map(([type, count]) => `${count} ${type}`).join(', ')
  const places = left.slice(0, 5).map(({ type, openedAt }) => `${type}, opened\n${openedAt || '    by Node itself'}`)
  return `${types} still open after ${withinMs} ms.\n${places.join('\n')}`
}
