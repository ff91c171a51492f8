import { describe, expect, it } from 'vitest'
import { engineMetrics } from '../../src/cli/sizing/read-metrics.js'
import { limitsOf, withLimits } from '../../src/cli/sizing/write-limits.js'

describe('limits in a configuration file', () => {
  it('replaces a number in place, and keeps every other character', async () => {
    const source =
      '# ours\nhttp: 127.0.0.1:8443   # behind nginx\nlimits:\n    sessions: 200 # guessed\n    drainMs: 5000\n'
    expect(await withLimits(source, { sessions: 12 })).toBe(source.replace('200', '12'))
  })

  it('adds to a section, with its indentation', async () => {
    const source = 'limits: # of clients\n    # not long\n    drainMs: 5000\nlog: { level: warn }\n'
    expect(await withLimits(source, { sessions: 12, maxEngineDelayMs: 2_000 })).toBe(
      source.replace('    drainMs', '    maxEngineDelayMs: 2000\n    sessions: 12\n    drainMs'),
    )
  })

  it('adds a section to a file without one, or an empty file', async () => {
    expect(await withLimits('log:\n  level: warn', { sessions: 12 })).toBe(
      'log:\n  level: warn\nlimits:\n  sessions: 12\n',
    )
    expect(await withLimits('', { sessions: 12, maxEngineDelayMs: 2_000 })).toBe(
      'limits:\n  maxEngineDelayMs: 2000\n  sessions: 12\n',
    )
    expect(await withLimits('# nothing yet\n', { sessions: 3 })).toBe('# nothing yet\nlimits:\n  sessions: 3\n')
  })

  it.each([
    ['limits: { drainMs: 5000 } # short\n', 'limits: { drainMs: 5000, sessions: 12 } # short\n'],
    ['limits:\nlog:\n  level: warn # quiet\n', 'log:\n  level: warn # quiet\nlimits:\n  sessions: 12\n'],
    ['limits: { sessions: 4 }\n', 'limits: { sessions: 12 }\n'],
  ])('sets it in %j', async (source, expected) => {
    expect(await withLimits(source, { sessions: 12 })).toBe(expected)
  })

  it('are sessions, of which stereo over a WebSocket has two, and a delay that the target permits', () => {
    expect(limitsOf({ calls: 8, sessionsPerCall: 1, targetP95Ms: 1_000 })).toEqual({ sessions: 8 })
    expect(limitsOf({ calls: 8, sessionsPerCall: 2, targetP95Ms: 3_000 })).toEqual({
      sessions: 16,
      maxEngineDelayMs: 3_000,
    })
    expect(limitsOf({ calls: 0, sessionsPerCall: 1, targetP95Ms: 1_000 })).toBeUndefined()
  })
})

describe('the metrics of a service', () => {
  it('are those of all models and workers, and undefined where an engine counts nothing', () => {
    const text =
      '# HELP rxspeech_load x\nrxspeech_load 0.25\nrxspeech_load_other 7\nrxspeech_loop_delay_seconds 0.004\n' +
      'rxspeech_engine_busy_seconds_total{model="Default/a/1"} 1.5\nrxspeech_engine_busy_seconds_total{model="b"} 2\n'
    expect(engineMetrics(text)).toEqual({ load: 0.25, loopDelayMs: 4, engineBusyMs: 3_500 })
    expect(engineMetrics('')).toEqual({ load: 0, loopDelayMs: 0, engineBusyMs: undefined })
  })
})
