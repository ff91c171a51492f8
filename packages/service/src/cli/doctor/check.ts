import { failureOf } from '../process/failure.js'

export type Status = 'ok' | 'warning' | 'wrong'

/** What a check found: what is, and unless it is ok, what to do. Neither contains a secret. */
export interface Finding {
  readonly status: Status
  readonly message: string
  readonly remedy?: string | undefined
}

export interface Check {
  /** What is checked, in one or two words. */
  readonly name: string
  /** How long it may take; overrides the limit of the others. */
  readonly limitMs?: number | undefined
  /** Rejects like any part of the command: that is a finding, too. */
  readonly run: (signal: AbortSignal) => Promise<readonly Finding[] | Finding>
}

export interface NamedFinding extends Finding {
  readonly check: string
}

export const ok = (message: string): Finding => ({ status: 'ok', message })
export const warning = (message: string, remedy: string): Finding => ({ status: 'warning', message, remedy })
export const wrong = (message: string, remedy?: string): Finding => ({ status: 'wrong', message, remedy })

/** The finding for a failure, which says what to do in its sentence. */
export const failed = (error: unknown): Finding => wrong(failureOf(error).sentence ?? 'It ended.')

export interface CheckLimits {
  readonly limitMs: number
  /** Ends all checks: the iteration throws its reason. */
  readonly signal: AbortSignal
  /** Called when a check begins. */
  readonly begins: (name: string) => void
}

/** Runs the checks one after the other, each for a limited time, and emits the findings of each. */
export async function* runChecks(
  checks: readonly Check[],
  { limitMs, signal, begins }: CheckLimits,
): AsyncGenerator<readonly NamedFinding[], undefined> {
  for (const { name, limitMs: ownLimitMs = limitMs, run } of checks) {
    signal.throwIfAborted()
    begins(name)
    const found = await bounded(run, ownLimitMs, signal)
    signal.throwIfAborted()
    const findings = 'status' in found ? [found] : found
    yield findings.map((finding) => ({ check: name, ...finding }))
  }
  return undefined
}

/** The findings, a finding for a failure, or one that there was none in time. */
const bounded = async (
  run: Check['run'],
  limitMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[] | Finding> => {
  const ending = new AbortController()
  const ended = AbortSignal.any([signal, ending.signal])
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<Finding>((resolve) => {
    const late = wrong(
      `No answer within ${limitMs / 1000} s.`,
      'Check the address and the network, or raise --timeout-ms.',
    )
    timer = setTimeout(() => resolve(late), limitMs)
    signal.addEventListener('abort', () => resolve(late), { once: true })
  })
  try {
    return await Promise.race([run(ended).catch(failed), tooLong])
  } finally {
    clearTimeout(timer)
    ending.abort()
  }
}
