/* Gives the reader of `alike.c` random blocks and forms, in memory of exactly their size, so that the address sanitizer
   sees each access outside: `alike_fuzz SEED BLOCKS`. `test_alike.py` compiles and runs it. */

#define WITHOUT_PYTHON
#include "../../../../runtime/connectors/formats/jsonl/alike.c"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static int chance(int most)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int)((state >> 11) % (uint64_t)most);
}

static char text[1 << 16];
static int length, is_odd; /* `is_odd`: values may be wrong ones of their kind */

static void put(const char *bytes, int count)
{
    memcpy(text + length, bytes, count);
    length += count;
}

static void put_word(const char *word) { put(word, (int)strlen(word)); }

static const char *WORDS[] = {"null", "true", "false", "nul", "tru", "-", "0", "-0", "1e", "1.", "{}", "", "\"", "\\",
                              "1e400", "2147483648", "9223372036854775807", "-9223372036854775808", "0.1e-22"};

static void put_value(char kind)
{
    int size = chance(80);
    if (is_odd && chance(8) == 0) {
        put_word(WORDS[chance(sizeof WORDS / sizeof *WORDS)]);
        return;
    }
    if (kind == BOOLEAN) put_word(chance(2) ? "true" : "false");
    else if (kind == TEXT || (kind == SKIPPED && chance(2))) {
        put("\"", 1);
        for (int n = 0; n < size; n++) put(is_odd && chance(99) == 0 ? "\\\n" : "a", 1);
        put("\"", 1);
    } else if (chance(9) == 0) put_word("null");
    else {
        int most = is_odd ? 80 : kind == INT ? 9 : kind == LONG ? 18 : kind == DOUBLE ? 13 : 50;
        if (chance(3) == 0) put("-", 1);
        for (int n = size % most; n >= 0; n--) put(&"123456789"[chance(9)], 1);
        if (kind != LONG && kind != INT && chance(2)) put_word(chance(2) ? ".5" : is_odd ? ".00000000000000" : ".0");
        if (kind == DOUBLE && chance(4) == 0) put_word(chance(2) ? "e-7" : "E+12");
    }
}

/* Returns bytes in memory of their own. */
static void *exactly(const void *bytes, int64_t count)
{
    void *copy = malloc(count);
    return count ? memcpy(copy, bytes, count) : copy;
}

static void check(int is_right, const char *what)
{
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Runs one block. Returns 1 if it is read as a whole. */
static int one_block(void)
{
    char form[512], kinds[8];
    int size = 0, columns = 1 + chance(6), lines = 1 + chance(chance(4) ? 4 : 70), result = REFUSED;
    int64_t starts[80], ends[80], room = 0, bits = (lines + 63) / 64 * 8;
    for (int n = 0; n < columns; n++) {
        kinds[n] = "xlidbsn"[chance(7)];
        size += sprintf(form + size, n ? ",\"%.*s\":" : "{\"%.*s\":", chance(12), "abcdefghijkl");
        form[size++] = 0, form[size++] = kinds[n];
        room += kinds[n] == SKIPPED ? 0 : kinds[n] == BOOLEAN ? 2 * bits : (size_of(kinds[n]) * lines + 7) / 8 * 8 + bits;
    }
    form[size++] = '}';
    length = 0, is_odd = chance(4) == 0;
    for (int line = 0; line < lines; line++) {
        starts[line] = length;
        for (int n = 0, at = 0; n < columns; n++) {
            int literal = (int)strlen(form + at);
            put(form + at, literal);
            put_value(kinds[n]);
            at += literal + 2;
        }
        put("}", 1);
        ends[line] = length;
        put("\n", 1);
    }
    /* Half of all blocks are as they should be; others have an odd byte, end too early, or have wrong bounds. */
    int64_t *bounds = chance(2) ? starts : ends;
    switch (chance(8)) {
    case 0: text[chance(length)] = (char)chance(256); break;
    case 1: length -= chance(length); break;
    case 2: length -= chance(length < 80 ? length : 80); break;
    case 3: bounds[chance(lines)] += chance(200) - 100; break;
    }
    if (chance(50) == 0) bounds[chance(lines)] = chance(2) ? INT64_MIN : INT64_MAX;
    if (chance(20) == 0) form[chance(size)] = (char)chance(256);
    if (chance(50) == 0) size -= chance(size);
    if (chance(50) == 0) room -= 1 + chance((int)room + 1);
    if (room < 0) room = 0;

    struct column read[8];
    uint8_t *block = exactly(text, length), *memory = malloc(room), *shape = exactly(form, size);
    uint8_t *from = exactly(starts, 8 * lines), *to = exactly(ends, 8 * lines);
    place last;
    int count = columns_of(shape, size, memory, room, lines, read, 8, &last);
    if (count >= 0) result = read_lines(block, length, from, to, lines, read, count, last, shape + size - last);
    check(result == REFUSED || result == WHOLE || (result >= 0 && result < count && read[result].kind == DOUBLE),
          "an unknown result");
    for (int n = 0; result == WHOLE && n < count; n++)
        for (int line = 0; (read[n].kind == TEXT || read[n].kind == NUMBER) && line < lines; line++) {
            int32_t piece[2];
            memcpy(piece, read[n].values + 8 * line, 8);
            check(0 <= piece[0] && piece[0] <= piece[1] && piece[1] <= length, "a text outside of the block");
        }
    free(block), free(memory), free(shape), free(from), free(to);
    return result == WHOLE;
}

/* Reads a block that ends after each byte of values of each kind and length. */
static void every_end(void)
{
    for (const char *kind = "xlidbsn"; *kind; kind++)
        for (int value = 0; value < 8; value++)
            for (int digits = 0; digits < 72; digits++) {
                length = 0;
                put("{\"a\":", 5);
                if (value == 0) put_word("\"");
                if (value == 1) put_word("-");
                if (value == 2) put_word("0.");
                for (int n = 0; n < digits; n++) put("7", 1);
                put_word((const char *[]){"\"", "", "", ".0", "e5", "E-", "null", "true"}[value]);
                put("}", 1);
                int64_t start = 0;
                for (int64_t end = 0; end <= length; end++) {
                    struct column column[1];
                    char form[] = "{\"a\":\0k}";
                    form[6] = *kind;
                    uint8_t *block = exactly(text, end), *memory = malloc(16);
                    place last;
                    check(columns_of((place)form, 8, memory, 16, 1, column, 1, &last) == 1, "no form");
                    read_lines(block, end, (uint8_t *)&start, (uint8_t *)&end, 1, column, 1, last, 1);
                    free(block), free(memory);
                }
            }
}

int main(int count, char **arguments)
{
    check(count == 3, "alike_fuzz SEED BLOCKS");
    state = strtoull(arguments[1], NULL, 10) * 2 + 88172645463325253;
    every_end();
    long whole = 0, blocks = atol(arguments[2]);
    for (long n = 0; n < blocks; n++) whole += one_block();
    printf("%ld of %ld blocks were read\n", whole, blocks);
    check(whole > blocks / 5, "too few blocks were read");
    return 0;
}
