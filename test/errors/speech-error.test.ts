import { sanitizePeerText, refusalError, refusalText } from '../../src/errors/refusal.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorTable, type ErrorCode } from '../../src/errors/error-table.js'
import { isSpeechError, SpeechError, toSpeechError } from '../../src/errors/speech-error.js'

const codes = Object.keys(errorTable) as readonly ErrorCode[]
const anyCode = fc.constantFrom(...codes)
const sentence = fc.string({ unit: 'binary', minLength: 1 })

/** An error as another build of the package makes it: the same shape, another class. */
const foreign = (fields: object): Error => Object.assign(new Error('said'), { name: 'SpeechError' }, fields)

describe('SpeechError', () => {
  it('takes retryable from the table unless it is given', () => {
    for (const code of codes) {
      expect(new SpeechError(code, 'x').retryable).toBe(errorTable[code].retryable)
      expect(new SpeechError(code, 'x', { retryable: !errorTable[code].retryable }).retryable).toBe(
        !errorTable[code].retryable,
      )
    }
  })

  it('has a cause and a delay only if they were given', () => {
    const bare = new SpeechError('internal', 'x')
    expect(['cause' in bare, 'retryAfterMs' in bare]).toEqual([false, false])
    const cause = new Error('inside')
    const full = new SpeechError('too-many-attempts', 'x', { cause, retryAfterMs: 0 })
    expect([full.cause, full.retryAfterMs, full.name, full.message]).toEqual([cause, 0, 'SpeechError', 'x'])
  })
})

describe('isSpeechError', () => {
  it('recognizes its own errors and those of another build', () => {
    for (const code of codes) {
      expect(isSpeechError(new SpeechError(code, 'x'))).toBe(true)
      expect(isSpeechError(foreign({ code, retryable: false }))).toBe(true)
    }
  })

  it('rejects objects that only resemble one', () => {
    const throwing = {
      toString: () => {
        throw new Error('inside')
      },
    }
    const wrong = [
      'nonsense',
      'constructor',
      5,
      undefined,
      null,
      ['internal'],
      Object.create(null),
      throwing,
      Symbol('x'),
    ]
    for (const code of wrong) expect(isSpeechError(foreign({ code, retryable: true }))).toBe(false)
    expect(isSpeechError(foreign({}))).toBe(false)
    expect(isSpeechError(foreign({ code: 'internal' }))).toBe(false)
    expect(isSpeechError(foreign({ code: 'internal', retryable: 'yes' }))).toBe(false)
    expect(isSpeechError(Object.assign(new Error('x'), { code: 'internal', retryable: true }))).toBe(false)
    expect(isSpeechError({ name: 'SpeechError', code: 'internal', retryable: true, message: 'x' })).toBe(false)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(isSpeechError(value)).toBe(false)
        expect(isSpeechError(foreign({ code: value, retryable: value }))).toBe(false)
      }),
    )
  })
})

describe('toSpeechError', () => {
  it('returns a SpeechError unchanged and wraps everything else as its cause', () => {
    const mine = new SpeechError('refused', 'x')
    expect(toSpeechError(mine, 'internal', 'y')).toBe(mine)
    for (const cause of [new Error('inside'), 'text', null]) {
      const error = toSpeechError(cause, 'engine-failed', 'The engine failed.')
      expect([error.code, error.message, error.cause]).toEqual(['engine-failed', 'The engine failed.', cause])
    }
  })
})

/** What `sanitizePeerText` leaves unchanged. */
const oneLine = sentence.map((text) => sanitizePeerText(text).slice(0, 200).trim()).filter((text) => text !== '')

describe('refusalText and refusalError', () => {
  it('read what was written: the code and the sentence', () => {
    fc.assert(
      fc.property(anyCode, oneLine, (code, message) => {
        const {
          code: readCode,
          message: readMessage,
          retryable,
        } = refusalError(refusalText(new SpeechError(code, message)))
        expect([readCode, readMessage, retryable]).toEqual([code, message, errorTable[code].retryable])
      }),
    )
  })

  it('keep a code that arrives without a sentence', () => {
    const message = 'The service refused and sent no reason.'
    for (const code of codes) expect(refusalError(`${code}: `)).toMatchObject({ code, message })
  })

  it('read every other text as a refusal with the text of the peer', () => {
    for (const text of ['no such model', 'nonsense: x', 'constructor: x', '__proto__: x', 'Internal: x', 'internal']) {
      expect(refusalError(text)).toMatchObject({ code: 'refused', message: `The service refused: ${text}` })
    }
    expect(refusalError('').message).toBe('The service refused: it sent no reason')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(isSpeechError(refusalError(text))).toBe(true)
      }),
    )
  })

  it('reveal no internals: an unknown error is internal', () => {
    const inside = [
      new Error('/srv/models/x'),
      new TypeError('secret'),
      'secret',
      { message: 'secret' },
      null,
      undefined,
    ]
    for (const error of inside) expect(refusalText(error)).toBe(`internal: ${errorTable.internal.help}`)
    fc.assert(fc.property(fc.anything(), (error) => refusalText(error) === `internal: ${errorTable.internal.help}`))
  })

  it('never include the cause', () => {
    const error = new SpeechError('engine-failed', 'The engine failed.', { cause: new Error('secret') })
    expect(refusalText(error)).toBe('engine-failed: The engine failed.')
  })

  it('read a refusal of a million characters in linear time', { timeout: 10_000 }, () => {
    for (const text of ['a-'.repeat(500_000), `internal: ${' '.repeat(1_000_000)}`, ': '.repeat(500_000)]) {
      expect(isSpeechError(refusalError(text))).toBe(true)
    }
  })
})
