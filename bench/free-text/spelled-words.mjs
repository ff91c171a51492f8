// Words as they are spoken, so that "10" and "ten" or "Mr." and "mister" are no errors.
const digits = 'zero one two three four five six seven eight nine'.split(' ')
const teens = 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ')
const tens = ['', '', ...'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')]

/** Numbers below a hundred as one says them, longer ones digit by digit. */
const spokenNumber = (number) => {
  const value = Number(number)
  if (number.length > 2 || (number.length === 2 && value < 10))
    return [...number].map((digit) => digits[digit]).join(' ')
  if (value < 10) return digits[value]
  if (value < 20) return teens[value - 10]
  return `${tens[Math.floor(value / 10)]} ${value % 10 === 0 ? '' : digits[value % 10]}`
}

/** The words of a text, without case, punctuation and ways of writing. */
export const spelledWords = (text) =>
  text
    .toLowerCase()
    .replace(/[[(][^\])]*[\])]/g, ' ')
    .replace(/\bmr\b\.?/g, 'mister')
    .replace(/\bhang up\b/g, 'hangup')
    .replace(/(\d+)(?:st|nd|rd|th)\b/g, '$1')
    .replace(/\d+/g, (number) => ` ${spokenNumber(number)} `)
    .replace(/['’]/g, '')
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
    .split(' ')
    .filter((word) => word !== '')
