import { describe, expect, it } from 'vitest'
import { type LogLevel, textLogger } from '../../src/operations/logger.js'

const logged = (level: LogLevel) => {
  const lines: string[] = []
  const logger = textLogger(
    { write: (line) => lines.push(line) },
    {
      level,
      now: () => new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 67)),
      paint: (style, text) => (style === 'plain' ? text : `<${style}>${text}</>`),
    },
  )
  return { lines, logger }
}

describe('the log as text', () => {
  it('is a line with the time of day, the level, the sentence and its fields', () => {
    const { lines, logger } = logged('info')
    logger.log('info', 'Session ended', { outcome: 'completed', durationMs: 12.5, good: true, code: undefined })
    logger.log('warn', 'Client rejected')
    expect(lines).toEqual([
      '<dim>03:04:05.067</> INFO  Session ended  <dim>outcome=completed durationMs=12.5 good=true</>\n',
      '<dim>03:04:05.067</> <warn>WARN </> Client rejected\n',
    ])
  })

  it('omits what is below its level', () => {
    const { lines, logger } = logged('warn')
    for (const level of ['debug', 'info', 'warn', 'error'] as const) logger.log(level, level)
    expect(lines.map((line) => line.trimEnd().split(' ').at(-1))).toEqual(['warn', 'error'])
  })

  it('quotes values that could not be parsed otherwise, and is one line with any content', () => {
    const { lines, logger } = logged('debug')
    logger.log('error', 'One\u001b[31m\nline', { where: 'a b', forged: 'x\n03:04 INFO all well', path: '/var/lib/x:1' })
    expect(lines).toEqual([
      '<dim>03:04:05.067</> <error>ERROR</> One [31m line  ' +
        '<dim>where="a b" forged="x\\n03:04 INFO all well" path=/var/lib/x:1</>\n',
    ])
  })

  it('writes no secret, by the name of its field, and cuts long values', () => {
    const { lines, logger } = logged('debug')
    logger.log('info', 'x', { accessToken: 'abc', client_secret: 'def', text: 'said', long: 'y'.repeat(301) })
    expect(lines.join('')).not.toMatch(/abc|def|said/)
    expect(lines[0]).toContain('accessToken="[redacted]"')
    expect(lines[0]).toMatch(/long="y{300}…"/)
  })
})
