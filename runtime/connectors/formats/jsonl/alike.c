/* Reads lines of JSON that are written alike, for `alike.py`: the same keys in the same order, the same characters
   between the values, and plain values. Whatever is not plain is refused, and parsers take it.

   Anybody may have written the lines, so the reader allocates nothing, follows no number of its input, and compares each
   place with the end of its line before it reads there. The caller owns all memory.

   The first part needs no Python, so that tests can run it alone (`tests/runtime/connectors/formats/alike_fuzz.c`). */

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles are computed with more digits than they have, and so are rounded twice"
#endif

/* What a column keeps of its values. SKIPPED: nothing, they are of no attribute. TEXT, NUMBER: the bounds of strings or
   of numbers in the text. */
enum kind { SKIPPED = 'x', LONG = 'l', INT = 'i', DOUBLE = 'd', BOOLEAN = 'b', TEXT = 's', NUMBER = 'n' };

enum { LONGEST_NUMBER = 64, MOST_DIGITS = 19, MOST_POWER = 22 };

static const double POWERS[MOST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef const uint8_t *place;

static const uint8_t TOO_LONG[1]; /* its place stands for that after a double of more digits than are read here */

/* `literal`: the bytes before the value, `length` many. `values`: as many bytes for each line as `size_of` says, those of
   BOOLEAN bits. `valid`: a bit for each line, 0 for null. */
struct column {
    char kind;
    place literal;
    int64_t length;
    uint8_t *values, *valid;
};

static int size_of(char kind) { return kind == SKIPPED || kind == BOOLEAN ? 0 : kind == INT ? 4 : 8; }

struct number {
    uint64_t digits, whole; /* all digits, and those before the point: right up to MOST_DIGITS */
    int count, power, is_negative, has_fraction, has_exponent;
};

static int is_digit(place at, place end) { return at < end && *at >= '0' && *at <= '9'; }

/* Reads a number of JSON; returns the place after it, NULL if there is none. */
static place number_at(place at, place end, struct number *n)
{
    place begin = at, first;
    memset(n, 0, sizeof *n);
    end = end - at > LONGEST_NUMBER ? at + LONGEST_NUMBER : end;
    if (at < end && *at == '-') n->is_negative = 1, at++;
    for (first = at; is_digit(at, end); at++) n->digits = 10 * n->digits + (*at - '0');
    if (at == first || (*first == '0' && at - first > 1)) return NULL;
    n->whole = n->digits, n->count = (int)(at - first);
    if (at < end && *at == '.') {
        for (first = ++at; is_digit(at, end); at++) {
            n->digits = 10 * n->digits + (*at - '0');
            n->has_fraction |= *at != '0';
        }
        if (at == first) return NULL;
        n->power = -(int)(at - first), n->count += (int)(at - first);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        int power = 0, sign = 1;
        at++, n->has_exponent = 1;
        if (at < end && (*at == '+' || *at == '-')) sign = *at++ == '-' ? -1 : 1;
        for (first = at; is_digit(at, end); at++) power = power > 9999 ? power : 10 * power + (*at - '0');
        if (at == first) return NULL;
        n->power += sign * power;
    }
    return at - begin < LONGEST_NUMBER ? at : NULL; /* a longer one may go on */
}

/* Keeps a number; returns the place after it, NULL if it does not fit. */
static place kept(const struct column *column, int64_t line, const struct number *n, place next)
{
    uint8_t *to = column->values + size_of(column->kind) * line;
    if (column->kind == DOUBLE) { /* W. D. Clinger: both factors are exact, so the result is rounded once */
        if (n->count > MOST_DIGITS || n->digits >> 53 || n->power < -MOST_POWER || n->power > MOST_POWER) return TOO_LONG;
        double value = n->power < 0 ? n->digits / POWERS[-n->power] : n->digits * POWERS[n->power];
        value = n->is_negative ? -value : value;
        memcpy(to, &value, 8);
        return next;
    }
    uint64_t most = (column->kind == INT ? INT32_MAX : INT64_MAX) + (uint64_t)n->is_negative;
    if (n->has_exponent || n->has_fraction || n->count > MOST_DIGITS || n->whole > most) return NULL;
    uint64_t value = n->is_negative ? 0 - n->whole : n->whole;
    uint32_t small = (uint32_t)value;
    if (column->kind == INT) memcpy(to, &small, 4);
    else memcpy(to, &value, 8);
    return next;
}

/* Returns the place of the quote that ends a string, NULL if an escape or a control character precedes it. */
static place quote_after(place at, place end)
{
    const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
    for (; end - at >= 8; at += 8) { /* as long as eight bytes are none of these */
        uint64_t word, quote, escape;
        memcpy(&word, at, 8);
        quote = word ^ ones * '"', escape = word ^ ones * '\\';
        uint64_t ends = ((quote - ones) & ~quote) | ((escape - ones) & ~escape) | ((word - ones * ' ') & ~word);
        if (ends & high) break;
    }
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' || *at < ' ') return NULL;
    return at < end ? at : NULL;
}

static place word_at(place at, place end, const char *word, int length)
{
    return end - at >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static void keep_bounds(const struct column *column, int64_t line, int64_t begin, int64_t end)
{
    int32_t bounds[2] = {(int32_t)begin, (int32_t)end};
    memcpy(column->values + 8 * line, bounds, 8);
}

/* Reads a value; returns the place after it, NULL if it is refused. */
static place value_at(place text, place at, place end, const struct column *column, int64_t line)
{
    const char kind = column->kind;
    struct number number;
    place next;
    switch (at < end ? *at : 0) {
    case '"':
        if ((kind != TEXT && kind != SKIPPED) || (next = quote_after(at + 1, end)) == NULL) return NULL;
        if (kind == TEXT) keep_bounds(column, line, at + 1 - text, next - text);
        return next + 1;
    case 'n':
        if ((next = word_at(at, end, "null", 4)) == NULL || kind == SKIPPED) return next;
        if (kind == TEXT || kind == NUMBER) keep_bounds(column, line, at - text, at - text);
        else memset(column->values + size_of(kind) * line, 0, size_of(kind));
        column->valid[line / 8] &= (uint8_t)~(1 << line % 8);
        return next;
    case 't':
    case 'f':
        if (kind != BOOLEAN && kind != SKIPPED) return NULL;
        if (kind == BOOLEAN) column->values[line / 8] |= (uint8_t)((*at == 't') << line % 8);
        return *at == 't' ? word_at(at, end, "true", 4) : word_at(at, end, "false", 5);
    default:
        if (kind == TEXT || kind == BOOLEAN || (next = number_at(at, end, &number)) == NULL) return NULL;
        if (kind == NUMBER) keep_bounds(column, line, at - text, next - text);
        return kind == NUMBER || kind == SKIPPED ? next : kept(column, line, &number, next);
    }
}

enum { REFUSED = -1, WHOLE = -2 };

/* Reads lines, in which `last` comes after the values. `starts`, `ends`: eight bytes for each line. Returns WHOLE,
   REFUSED, or the number of a column with a double that is too long. */
static int read_lines(place text, int64_t size, const uint8_t *starts, const uint8_t *ends, int64_t lines,
                      const struct column *columns, int count, place last, int64_t length)
{
    if (size > INT32_MAX) return REFUSED;
    for (int64_t line = 0; line < lines; line++) {
        int64_t start, stop;
        memcpy(&start, starts + 8 * line, 8);
        memcpy(&stop, ends + 8 * line, 8);
        if (start < 0 || start > stop || stop > size) return REFUSED;
        place at = text + start, end = text + stop;
        for (int n = 0; n < count; n++) {
            const struct column *column = &columns[n];
            if (end - at < column->length || memcmp(at, column->literal, column->length)) return REFUSED;
            if (line % 8 == 0 && column->kind != SKIPPED) column->valid[line / 8] = 0xff;
            if (line % 8 == 0 && column->kind == BOOLEAN) column->values[line / 8] = 0;
            at = value_at(text, at + column->length, end, column, line);
            if (at == NULL || at == TOO_LONG) return at == NULL ? REFUSED : n;
        }
        if (end - at != length || memcmp(at, last, length)) return REFUSED;
    }
    return WHOLE;
}

/* Finds the columns of a form in the memory for their values. A form has, before each value, a literal, a zero and the
   kind. Returns the number of columns, -1 if form or memory are not right. `last`: what follows the last value. */
static int columns_of(place form, int64_t size, uint8_t *memory, int64_t room, int64_t lines, struct column *columns,
                      int most, place *last)
{
    place end = form + size, zero;
    int count = 0;
    for (; (zero = memchr(form, 0, end - form)) != NULL; form = zero + 2) {
        if (end - zero < 2 || count == most || memchr("xlidbsn", zero[1], 7) == NULL) return -1;
        int64_t bits = (lines + 63) / 64 * 8, bytes = zero[1] == BOOLEAN ? bits : (size_of(zero[1]) * lines + 7) / 8 * 8;
        if (zero[1] == SKIPPED) bits = 0;
        if (room < bytes + bits) return -1;
        columns[count++] = (struct column){(char)zero[1], form, zero - form, memory, memory + bytes};
        memory += bytes + bits, room -= bytes + bits;
    }
    *last = form;
    return count;
}

#ifndef WITHOUT_PYTHON
#define Py_LIMITED_API 0x030B0000 /* which has buffers since 3.11 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *read_alike(PyObject *module, PyObject *arguments)
{
    struct column columns[256];
    Py_buffer text, starts, ends, form, memory;
    int result = REFUSED;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*w*", &text, &starts, &ends, &form, &memory)) return NULL;
    Py_ssize_t lines = starts.len / 8;
    place last;
    int count = columns_of(form.buf, form.len, memory.buf, memory.len, lines, columns, 256, &last);
    if (count >= 0 && ends.len == starts.len) {
        int64_t length = (place)form.buf + form.len - last;
        Py_BEGIN_ALLOW_THREADS
        result = read_lines(text.buf, text.len, starts.buf, ends.buf, lines, columns, count, last, length);
        Py_END_ALLOW_THREADS
    }
    Py_buffer *views[] = {&text, &starts, &ends, &form, &memory};
    for (int n = 0; n < 5; n++) PyBuffer_Release(views[n]);
    return PyLong_FromLong(result);
}

static PyMethodDef FUNCTIONS[] = {{"read", read_alike, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_alike", NULL, 0, FUNCTIONS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__alike(void) { return PyModuleDef_Init(&MODULE); }
#endif
