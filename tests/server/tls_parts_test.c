// The parts of TLS that need no server: reading a pair, making one and keeping it, where a request without TLS is sent.
#include "server/gateway/reach.h"
#include "server/gateway/tls.h"
#include "server/net/proxies.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_files.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tarn-tls-XXXXXX", certificate[64], key[64];
static tarn_tls_pair pair;

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(certificate, sizeof certificate, "%s/a.crt", folder);
    snprintf(key, sizeof key, "%s/a.key", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a.crt", "a.key", "tarn-self-signed.crt", "tarn-self-signed.key", "other.key"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return rmdir(folder);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not have \"%s\"", text, part);
    }
}

static void test_a_pair_is_read_with_the_certificates_behind_it(void **state)
{
    (void)state;
    tarn_text why;
    for (int is_rsa = 0; is_rsa < 2; is_rsa++) {
        tls_files_write(certificate, key, &(tls_plan){.is_rsa = is_rsa, .is_issued = true});
        assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_OK);
        assert_false(pair.is_self_signed);
        assert_int_equal(sk_X509_num(pair.chain), 1);
        assert_int_equal(strlen(pair.fingerprint), 95);
        assert_true(tarn_tls_pair_left_s(&pair) > 86000 && tarn_tls_pair_left_s(&pair) <= 86400);
        tarn_tls_pair_free(&pair);
    }
    tls_files_write(certificate, key, &(tls_plan){0});
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_OK);
    assert_true(pair.is_self_signed);
    tarn_tls_pair_free(&pair);
    tarn_tls_pair_free(&pair); // takes one that holds nothing
}

static void test_what_cannot_be_served_is_refused_with_a_sentence(void **state)
{
    (void)state;
    tarn_text why;
    char other[64];
    snprintf(other, sizeof other, "%s/other.key", folder);
    tls_files_write(certificate, key, &(tls_plan){0});
    assert_int_equal(tarn_tls_pair_read("/nonexistent/a.crt", key, &pair, why), TARN_E_NOT_FOUND);
    assert_has(why, "/nonexistent/a.crt: No such file");
    assert_int_equal(tarn_tls_pair_read(certificate, "/nonexistent/a.key", &pair, why), TARN_E_NOT_FOUND);
    assert_has(why, "/nonexistent/a.key: No such file");
    assert_int_equal(tarn_tls_pair_read(folder, key, &pair, why), TARN_E_IO);
    assert_has(why, "isn't a file, allowed is a certificate in PEM");
    assert_int_equal(tarn_tls_pair_read(certificate, "/dev/zero", &pair, why), TARN_E_IO);
    assert_has(why, "isn't a file, allowed is a private key in PEM");
    assert_int_equal(tarn_tls_pair_read(key, key, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "found no certificate");
    assert_int_equal(tarn_tls_pair_read(certificate, certificate, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "found no private key");
    tls_files_write(certificate, key, &(tls_plan){.password = "swordfish"});
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "has a password, allowed is one without");
    tls_files_write(certificate, key, &(tls_plan){.is_rsa = true, .rsa_bits = 1024});
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "OpenSSL refuses the certificate");
    assert_has(why, "key too small");
    tls_files_write(certificate, key, &(tls_plan){0});
    tls_files_write(certificate, other, &(tls_plan){0});
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "isn't that of the first certificate");
}

static void test_a_file_is_bounded(void **state)
{
    (void)state;
    tarn_text why;
    static char text[2 << 20];
    tls_files_write(certificate, key, &(tls_plan){0});
    FILE *in = fopen(certificate, "re");
    assert_non_null(in);
    const size_t bytes = fread(text, 1, sizeof text / 16, in);
    fclose(in);
    for (size_t i = 1; i < 16; i++) {
        memcpy(text + i * bytes, text, bytes);
    }
    tls_files_write_text(certificate, text);
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_LIMIT);
    assert_has(why, "more than 8 certificates");
    text[9 * bytes] = 0;
    tls_files_write_text(certificate, text);
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_OK);
    tarn_tls_pair_free(&pair);
    text[2 * bytes - 100] = 0;
    tls_files_write_text(certificate, text);
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_MALFORMED);
    assert_has(why, "certificate 2 can't be read");
    memset(text, ' ', sizeof text - 1);
    tls_files_write_text(certificate, text);
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_E_LIMIT);
    assert_has(why, "allowed are 1048576");
}

static void assert_warns(const tls_plan *plan, mode_t mode, const char *part)
{
    tarn_text why;
    tls_files_write(certificate, key, plan);
    assert_int_equal(chmod(key, mode), 0);
    assert_int_equal(tarn_tls_pair_read(certificate, key, &pair, why), TARN_OK);
    assert_int_equal(pair.warning_count, part != NULL);
    if (part != NULL) {
        assert_has(pair.warnings[0], part);
    }
    tarn_tls_pair_free(&pair);
}

static void test_what_is_odd_is_warned_of(void **state)
{
    (void)state;
    const long day_s = 86400;
    assert_warns(&(tls_plan){.from_s = -9 * day_s, .until_s = 30 * day_s}, 0640, NULL);
    assert_warns(&(tls_plan){.from_s = -9 * day_s, .until_s = 30 * day_s}, 0644, "everybody on this machine can read");
    assert_warns(&(tls_plan){.from_s = -9 * day_s, .until_s = -2 * day_s - 60}, 0600, "ended 2 days ago");
    assert_warns(&(tls_plan){.from_s = -9 * day_s, .until_s = 3 * day_s + 60}, 0600, "ends in 3 days");
    assert_warns(&(tls_plan){.from_s = day_s, .until_s = 30 * day_s}, 0600, "isn't valid yet");
}

static tarn_own_names names;
static char kept[96];

/// @return whether another one was made; `kept` has its fingerprint
static bool open_self_signed(void)
{
    tarn_text why;
    bool made;
    assert_int_equal(tarn_self_signed_open(folder, &names, &pair, &made, why), TARN_OK);
    snprintf(kept, sizeof kept, "%s", pair.fingerprint);
    tarn_tls_pair_free(&pair);
    return made;
}

static void test_a_self_signed_one_is_made_once_and_kept(void **state)
{
    (void)state;
    char path[64], first[96];
    struct stat about;
    tarn_own_names_find("192.0.2.7", &names);
    assert_string_equal(names.names[0], "localhost");
    assert_true(open_self_signed());
    snprintf(first, sizeof first, "%s", kept);
    assert_false(open_self_signed());
    assert_string_equal(kept, first);
    snprintf(path, sizeof path, "%s/tarn-self-signed.key", folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
}

static void test_a_self_signed_one_has_the_names_and_addresses(void **state)
{
    (void)state;
    tarn_text why;
    bool made;
    tarn_own_names_find("tank.example", &names);
    assert_int_equal(tarn_self_signed_open(folder, &names, &pair, &made, why), TARN_OK);
    static const unsigned char v4[4] = {127, 0, 0, 1}, v6[16] = {[15] = 1}, other[4] = {192, 0, 2, 99};
    assert_int_equal(X509_check_host(pair.certificate, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(pair.certificate, "tank.example", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(pair.certificate, "other.example", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ip(pair.certificate, v4, 4, 0), 1);
    assert_int_equal(X509_check_ip(pair.certificate, v6, 16, 0), 1);
    assert_int_equal(X509_check_ip(pair.certificate, other, 4, 0), 0);
    assert_true(pair.is_self_signed);
    assert_int_equal(pair.warning_count, 0);
    assert_true(tarn_tls_pair_left_s(&pair) <= 825 * 86400L);
    tarn_tls_pair_free(&pair);
}

static void test_a_self_signed_one_is_made_anew_when_it_must(void **state)
{
    (void)state;
    char path[2][64];
    snprintf(path[0], sizeof path[0], "%s/tarn-self-signed.crt", folder);
    snprintf(path[1], sizeof path[1], "%s/tarn-self-signed.key", folder);
    tarn_own_names_find("127.0.0.1", &names);
    open_self_signed();
    assert_false(open_self_signed());
    inet_pton(AF_INET6, "2001:db8::7", &names.addresses[names.address_count++]);
    assert_true(open_self_signed()); // another address
    assert_false(open_self_signed());
    names.address_count--;
    assert_false(open_self_signed()); // one that is gone does no harm
    tls_files_write_text(path[0], "nothing");
    assert_true(open_self_signed());
    remove(path[1]);
    assert_true(open_self_signed());
    tls_files_write(certificate, path[1], &(tls_plan){0});
    assert_true(open_self_signed()); // two that don't belong together
    memset(&names, 0, sizeof names);
    names.name_count = 1;
    strcpy(names.names[0], "localhost");
    tls_files_write(path[0], path[1], &(tls_plan){.names = "DNS:localhost", .from_s = -9, .until_s = 30L * 86400});
    assert_false(open_self_signed());
    tls_files_write(path[0], path[1], &(tls_plan){.names = "DNS:localhost", .from_s = -9, .until_s = 3600});
    assert_true(open_self_signed()); // about to end
}

static void test_where_a_self_signed_one_cannot_be_kept_a_sentence_says_so(void **state)
{
    (void)state;
    tarn_text why;
    bool made;
    char below[80];
    tarn_own_names_find("127.0.0.1", &names);
    tls_files_write_text(certificate, "a file");
    assert_int_equal(tarn_self_signed_open(certificate, &names, &pair, &made, why), TARN_E_IO);
    assert_has(why, "a.crt can't be used: Not a directory");
    snprintf(below, sizeof below, "%s/below", certificate);
    assert_int_equal(tarn_self_signed_open(below, &names, &pair, &made, why), TARN_E_IO);
    assert_has(why, "can't be made: Not a directory");
    assert_int_equal(tarn_self_signed_open("/proc/tarn", &names, &pair, &made, why), TARN_E_IO);
    assert_has(why, "--tls-dir /proc/tarn can't be made");
}

static const char *sent_to(const char *host, uint16_t port, const char *path)
{
    static char location[2048];
    return tarn_redirect_location(host, port, path, location, sizeof location) ? location : "refused";
}

static void test_a_request_without_tls_is_sent_to_its_host_with_the_port(void **state)
{
    (void)state;
    assert_string_equal(sent_to("tank.example", 443, "/"), "https://tank.example/");
    assert_string_equal(sent_to("tank.example:80", 8443, "/a"), "https://tank.example:8443/a");
    assert_string_equal(sent_to("192.0.2.7:8080", 0, "/"), "https://192.0.2.7:8080/");
    assert_string_equal(sent_to("[2001:db8::1]:80", 8443, "/"), "https://[2001:db8::1]:8443/");
    assert_string_equal(sent_to("[2001:db8::1]", 443, "/"), "https://[2001:db8::1]/");
    assert_string_equal(sent_to("a", 1, "/x y\r\n\"<\xff%"), "https://a:1/x%20y%0D%0A%22%3C%FF%");
}

static void test_a_host_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const hosts[] = {"",        "a b",        "a/b",   "a@b",      "a\r\nb",  "a:",       "a:0",
                                        "a:65536", "a:1x",       "a:-1",  "a:123456", "[",       "[]",       "[::1",
                                        "[::1]x",  "[::1%eth0]", "::1",   ".a",       "-a",      "a\xff",    "a?b",
                                        "a#b",     "a\\b",       "\"a\"", "a,b",      "a:80:80", "https://a"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        if (strcmp(sent_to(hosts[i], 443, "/"), "refused") != 0) {
            fail_msg("\"%s\" leads to %s", hosts[i], sent_to(hosts[i], 443, "/"));
        }
    }
    char name[300];
    memset(name, 'a', 254);
    name[254] = 0;
    assert_string_equal(sent_to(name, 443, "/"), "refused");
    assert_string_equal(sent_to("a", 443, "x"), "refused");
    assert_string_equal(sent_to("a", 443, ""), "refused");
}

static void test_a_query_goes_along_where_there_is_room(void **state)
{
    (void)state;
    static const char target[] = "/a%20b?session=main&key=a%26b#c";
    char location[128];
    assert_true(tarn_redirect_location("a", 443, target, location, sizeof location));
    assert_string_equal(location, "https://a/a%20b?session=main&key=a%26b%23c");
    for (size_t room = 0; room <= strlen(location); room++) {
        char small[128];
        memset(small, '!', sizeof small);
        assert_false(tarn_redirect_location("a", 443, target, small, room));
        assert_int_equal(small[room], '!');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pair_is_read_with_the_certificates_behind_it),
        cmocka_unit_test(test_what_cannot_be_served_is_refused_with_a_sentence),
        cmocka_unit_test(test_a_file_is_bounded),
        cmocka_unit_test(test_what_is_odd_is_warned_of),
        cmocka_unit_test(test_a_self_signed_one_is_made_once_and_kept),
        cmocka_unit_test(test_a_self_signed_one_has_the_names_and_addresses),
        cmocka_unit_test(test_a_self_signed_one_is_made_anew_when_it_must),
        cmocka_unit_test(test_where_a_self_signed_one_cannot_be_kept_a_sentence_says_so),
        cmocka_unit_test(test_a_request_without_tls_is_sent_to_its_host_with_the_port),
        cmocka_unit_test(test_a_host_that_is_none_is_refused),
        cmocka_unit_test(test_a_query_goes_along_where_there_is_room),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
